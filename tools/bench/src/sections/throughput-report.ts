import type { BenchContext } from '../bench-context.ts';
import { median } from '../median.ts';
import type { SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, wholeNumber, type Column } from '../text-table.ts';
import type { RowSummary } from './summarise-row.ts';
import type { Row } from './throughput-rows.ts';

export interface Measured {
  readonly context: Pick<BenchContext, 'options' | 'redis'>;
  readonly summaries: readonly RowSummary[];
  readonly withheld: readonly string[];
  readonly rows: readonly Row[];
}

const columns: readonly Column[] = [
  { name: 'server' },
  ...[
    ...['requests/s', 'records/s', 'p50 ms', 'p99 ms', 'CPU us', 'PostgreSQL us', 'Redis us', 'generator us'],
    ...['memory MiB', 'of Express', 'of Express + five'],
  ].map((name) => ({ name, right: true })),
];

export function throughputReport({ context, summaries, withheld, rows }: Measured): SectionReport {
  const { connections, rounds, roundMs, warmUpMs } = context.options;
  const comparable = withheld.length === 0;
  const speedOf = (kind: Row['kind']): number | undefined =>
    comparable ? summaries.find((summary) => summary.kind === kind)?.requestsPerSecond : undefined;
  const baselines = { express: speedOf('express'), packages: speedOf('packages') };
  return {
    title: 'Throughput',
    tables: [{ columns, rows: summaries.map((summary) => cellsOf(summary, baselines)) }],
    notes: [
      `Medians of ${rounds} rounds of ${roundMs / 1_000} s each, the rows in turn, after warming up (${wholeNumber(rows[0]?.warmUpRequests)} single requests or ${wholeNumber(rows.at(-1)?.warmUpRequests)} batches each, at least ${warmUpMs / 1_000} s); ${connections} connections, one request in flight on each.`,
      'Each request has a record of 255 bytes (a batch 100 of them) and an Idempotency-Key never used before. CPU us is user and system time of the whole server process for each request; the columns beside it are what PostgreSQL, Redis and the load generator cost for the same request, on the same cores.',
      'The ratios are of requests/s. Limits per network and per key are on, out of reach; each request is logged to a file.',
      quietness(summaries),
      ...(comparable ? ['Every acknowledged record was counted in the ledger, once.'] : []),
      ...(context.redis === undefined ? ['This machine has no redis-server: the rows with Redis are missing.'] : []),
    ],
    findings: findingsOf(summaries, baselines, comparable),
    withheld,
    measured: { summaries, rounds: rows.map(({ name, warmUps, rounds }) => ({ name, warmUps, rounds })) },
  };
}

/** Above this share the numbers say as much about the rest of the machine as about us. */
const quietShare = 0.1;

export function quietness(summaries: readonly Pick<RowSummary, 'otherShare'>[]): string {
  const shares = summaries.map(({ otherShare }) => otherShare).filter((share) => !Number.isNaN(share));
  if (shares.length === 0) return 'This system does not tell what else it did meanwhile.';
  const largest = Math.max(...shares);
  const said = `Other work took ${decimals(median(shares) * 100, 0)} % of all cores in the median row, ${decimals(largest * 100, 0)} % in the worst.`;
  return largest > quietShare ? `**The machine was not quiet.** ${said}` : said;
}

interface Baselines {
  readonly express: number | undefined;
  readonly packages: number | undefined;
}

const ratio = (speed: number, baseline: number | undefined): number | undefined =>
  baseline === undefined ? undefined : speed / baseline;

function cellsOf(summary: RowSummary, { express, packages }: Baselines): string[] {
  const { name, requestsPerSecond, recordsPerSecond } = summary;
  const single = summary.kind !== 'batch';
  return [
    name,
    wholeNumber(requestsPerSecond),
    recordsPerSecond === 0 ? '-' : wholeNumber(recordsPerSecond),
    decimals(summary.p50Ms, 2),
    decimals(summary.p99Ms, 2),
    decimals(summary.serverUs, 1),
    decimals(summary.postgresUs, 1),
    decimals(summary.redisUs, 1),
    decimals(summary.generatorUs, 1),
    wholeNumber(summary.peakMebibytes),
    decimals(single ? ratio(requestsPerSecond, express) : undefined, 2),
    decimals(single ? ratio(requestsPerSecond, packages) : undefined, 2),
  ];
}

function findingsOf(summaries: readonly RowSummary[], baselines: Baselines, comparable: boolean): Finding[] {
  const findings: Finding[] = [];
  const redisOf = ({ name }: RowSummary): string => (name.includes('without') ? 'without Redis' : 'with Redis');
  for (const summary of summaries.filter(({ kind }) => kind === 'single')) {
    const of = redisOf(summary);
    const speed = summary.requestsPerSecond;
    findings.push({ target: 'singlesOfExpress', value: ratio(speed, baselines.express), of });
    findings.push({ target: 'singlesOfPackages', value: ratio(speed, baselines.packages), of });
  }
  for (const summary of summaries.filter(({ kind }) => kind === 'batch')) {
    const value = comparable ? summary.recordsPerSecond : undefined;
    findings.push({ target: 'batchRecords', value, of: redisOf(summary) });
    // Both rows are of one process, whose peak covers single records too.
    findings.push({ target: 'memory', value: summary.peakMebibytes, of: redisOf(summary) });
  }
  return findings;
}
