import type { BenchContext } from '../bench-context.ts';
import { median } from '../median.ts';
import type { SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber, type Column } from '../text-table.ts';
import { beside, LOAD_COLUMNS, loadCells, ratioTo, type RowSummary } from './summarise-row.ts';
import type { Row } from './throughput-rows.ts';

export interface Measured {
  readonly title: string;
  readonly context: Pick<BenchContext, 'options' | 'redis'>;
  readonly summaries: readonly RowSummary[];
  readonly withheld: readonly string[];
  readonly rows: readonly Row[];
}

const columns: readonly Column[] = [
  { name: 'server' },
  ...['requests/s', 'records/s'].map(right),
  ...LOAD_COLUMNS,
  ...['of Express', 'of Express + five'].map(right),
];

export function throughputReport({ title, context, summaries, withheld, rows }: Measured): SectionReport {
  const { connections, rounds, roundMs, warmUpMs } = context.options;
  const comparable = withheld.length === 0;
  const yardstick = (kind: Row['kind'], beside: Row | undefined): RowSummary | undefined =>
    comparable
      ? summaries[rows.findIndex((row) => row.kind === kind && row.connections === beside?.connections)]
      : undefined;
  const baselinesOf = (row: Row | undefined): Baselines => ({
    express: yardstick('express', row),
    packages: yardstick('packages', row),
  });
  return {
    title,
    tables: [{ columns, rows: summaries.map((summary, at) => cellsOf(summary, baselinesOf(rows[at]))) }],
    notes: [
      `Medians of ${rounds} rounds of ${roundMs / 1_000} s each, the rows in turn, after warming up (${warmed(rows)} each, at least ${warmUpMs / 1_000} s); ${connections} connections unless a row says otherwise, one request in flight on each.`,
      'Each request has a record of 255 bytes (a batch 100 of them) and a new Idempotency-Key. CPU us is user and system time of the whole server process for each request; the next columns are the cost in PostgreSQL, Redis and the load generator for the same request, on the same cores.',
      'The ratios are of requests/s. Limits per network and per key are on but unreachably high; each request is logged to a file.',
      quietness(summaries),
      ...(comparable ? ['Every acknowledged record was counted in the ledger, once.'] : []),
      ...(context.redis === undefined ? ['This machine has no redis-server: the rows with Redis are missing.'] : []),
    ],
    findings: findingsOf(summaries, baselinesOf(rows[0]), comparable),
    withheld,
    measured: { summaries, rounds: rows.map(({ name, warmUps, rounds }) => ({ name, warmUps, rounds })) },
  };
}

function warmed(rows: readonly Row[]): string {
  const batch = rows.find(({ kind }) => kind === 'batch');
  const singles = `${wholeNumber(rows[0]?.warmUpRequests)} single requests`;
  return batch === undefined ? singles : `${singles} or ${wholeNumber(batch.warmUpRequests)} batches`;
}

/** Above this share of other work the numbers are not meaningful. */
const quietShare = 0.1;

export function quietness(summaries: readonly Pick<RowSummary, 'otherShare'>[]): string {
  const shares = summaries.map(({ otherShare }) => otherShare).filter((share) => !Number.isNaN(share));
  if (shares.length === 0) return 'This system does not report its other load.';
  const largest = Math.max(...shares);
  const said = `Other work took ${decimals(median(shares) * 100, 0)} % of all cores in the median row, ${decimals(largest * 100, 0)} % in the worst.`;
  return largest > quietShare ? `**The machine was not quiet.** ${said}` : said;
}

interface Baselines {
  readonly express: RowSummary | undefined;
  readonly packages: RowSummary | undefined;
}

function cellsOf(summary: RowSummary, { express, packages }: Baselines): string[] {
  const { name, requestsPerSecond, recordsPerSecond } = summary;
  const single = summary.kind !== 'batch';
  return [
    name,
    wholeNumber(requestsPerSecond),
    recordsPerSecond === 0 ? '-' : wholeNumber(recordsPerSecond),
    ...loadCells(summary),
    decimals(single ? ratioTo(express, summary) : undefined, 2),
    decimals(single ? ratioTo(packages, summary) : undefined, 2),
  ];
}

/** CPU time of all processes for one request, except the load generator; unreported values count as zero. */
const allUsOf = ({ serverUs, postgresUs, redisUs }: RowSummary): number =>
  [serverUs, postgresUs, redisUs].reduce((sum, us) => sum + (Number.isNaN(us) ? 0 : us), 0);

function findingsOf(summaries: readonly RowSummary[], baselines: Baselines, comparable: boolean): Finding[] {
  const findings: Finding[] = [];
  const redisOf = ({ name }: RowSummary): string => (name.includes('without') ? 'without Redis' : 'with Redis');
  for (const summary of summaries.filter(({ kind }) => kind === 'single')) {
    const of = redisOf(summary);
    const { express, packages } = baselines;
    const target = of === 'with Redis' ? 'singlesOfExpress' : 'singlesOfExpressWithoutRedis';
    findings.push({ target, value: ratioTo(express, summary), of: beside('Express', express) });
    findings.push({
      target: 'singlesOfPackages',
      value: ratioTo(packages, summary),
      of: `${of}; ${beside('Express', express)}`,
    });
    findings.push({ target: 'singleCpu', value: comparable ? allUsOf(summary) : undefined, of });
  }
  for (const summary of summaries.filter(({ kind }) => kind === 'batch')) {
    const value = comparable ? summary.recordsPerSecond : undefined;
    findings.push({ target: 'batchRecords', value, of: redisOf(summary) });
    // Both rows are of one process, whose peak covers single records too.
    findings.push({ target: 'memory', value: summary.peakMebibytes, of: redisOf(summary) });
  }
  return findings;
}
