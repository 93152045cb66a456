import type { BenchContext } from '../bench-context.ts';
import { median } from '../median.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import type { MeasuredRows } from './measure-rows.ts';
import type { Summary } from './row.ts';
import { EXPRESS } from '../servers/echo-server.ts';
import { ratioOf } from './summarise.ts';

export interface RowsSection {
  readonly title: string;
  /** The tables of rows, each with the heading of its first column. */
  readonly measured: Readonly<Record<string, MeasuredRows>>;
  readonly notes: readonly string[];
  /** What the section measured beside its rows. */
  readonly tables?: readonly ReportTable[];
  readonly findings?: readonly Finding[];
  /** Reasons why that does not count. */
  readonly withheld?: readonly string[];
}

/** Of rows, no ratio and no verdict is shown where anything of the section is not valid. */
export function rowsReport({ options }: Pick<BenchContext, 'options'>, section: RowsSection): SectionReport {
  const { title, measured, notes, tables = [], findings = [], withheld: ownFaults = [] } = section;
  const parts = Object.entries(measured);
  const withheld = [...parts.flatMap(([, part]) => part.withheld), ...ownFaults];
  const rounds = new Set(parts.flatMap(([, { all }]) => all.map((one) => one.rounds.length)));
  const isValid = withheld.length === 0;
  const told = (valid: boolean, found: readonly Finding[]): Finding[] =>
    found.map((finding) => (valid ? finding : { ...finding, value: undefined }));
  return {
    title,
    tables: [...parts.map(([heading, part]) => tableOf(heading, part, isValid)), ...tables],
    notes: [
      `Medians of ${[...rounds].join(' or ')} rounds of ${options.roundMs / 1_000} s each, the rows in turn, after warming up; ${options.connections} connections unless a row says otherwise, one request in flight on each. CPU us is user and system time of the whole server process for each request; the next columns are the cost in PostgreSQL, Redis and the load generator for the same request, on the same cores.`,
      'Ratios are of requests/s, the median of the ratios of neighbouring rounds. In a row with a rate requests are due independently of the answers, and latency counts from the due time.',
      ...notes,
      quietness(parts.flatMap(([, { all }]) => all.map(({ summary }) => summary.otherShare))),
    ],
    findings: [
      ...told(
        isValid,
        parts.flatMap(([, part]) => findingsOf(part)),
      ),
      ...told(ownFaults.length === 0, findings),
    ],
    withheld,
    measured: parts.map(([, { all }]) => all.map(({ row, ...results }) => ({ name: row.name, ...results }))),
  };
}

function findingsOf({ all }: MeasuredRows): Finding[] {
  const of = (name: string): Summary => {
    const found = all.find(({ row }) => row.name === name);
    if (found === undefined) throw new Error(`There is no row ${name} to compare with.`);
    return found.summary;
  };
  const expressUs = all.find(({ row }) => row.name === EXPRESS)?.summary.serverUs;
  return all.flatMap(({ row, summary }) =>
    (row.findings?.(summary, of) ?? []).map((finding) => ({ ...finding, ...(expressUs && { expressUs }) })),
  );
}

const rate = (perSecond: number): string => (perSecond < 100 ? decimals(perSecond, 1) : wholeNumber(perSecond));

const numbers: readonly (readonly [string, (summary: Summary) => string])[] = [
  ['requests/s', ({ requestsPerSecond }) => rate(requestsPerSecond)],
  ['records/s', ({ recordsPerSecond }) => (recordsPerSecond === 0 ? '-' : rate(recordsPerSecond))],
  ['p50 ms', ({ p50Ms }) => decimals(p50Ms, 2)],
  ['p99 ms', ({ p99Ms }) => decimals(p99Ms, 2)],
  ['worst ms', ({ worstMs }) => decimals(worstMs, 1)],
  ['stall ms', ({ stallMs }) => decimals(stallMs, 1)],
  ['CPU us', ({ serverUs }) => decimals(serverUs, 1)],
  ['PostgreSQL us', ({ postgresUs }) => decimals(postgresUs, 1)],
  ['Redis us', ({ redisUs }) => decimals(redisUs, 1)],
  ['PgBouncer us', ({ poolerUs }) => decimals(poolerUs, 1)],
  ['generator us', ({ generatorUs }) => decimals(generatorUs, 1)],
  ['failed', ({ failed }) => wholeNumber(failed)],
  ['memory MiB', ({ peakMebibytes }) => wholeNumber(peakMebibytes)],
];

/** One line for each row. A column in which no row has a value is left out. */
function tableOf(heading: string, { all }: MeasuredRows, isValid: boolean): ReportTable {
  const ratios = [...new Set(all.flatMap(({ row }) => Object.keys(row.ratios ?? {})))];
  const summaryOf = new Map(all.map(({ row, summary }) => [row.name, summary]));
  const ratioCell = ({ row, summary }: MeasuredRows['all'][number], column: string): string => {
    const other = summaryOf.get(row.ratios?.[column] ?? '');
    return decimals(isValid && other !== undefined ? ratioOf(summary, other) : undefined, 2);
  };
  const columns = [
    ...numbers.map(([name, show]) => ({ name, cells: all.map(({ summary }) => show(summary)) })),
    ...ratios.map((name) => ({ name, cells: all.map((one) => ratioCell(one, name)) })),
  ].filter(({ cells }) => cells.some((cell) => cell !== '-'));
  return {
    columns: [{ name: heading }, ...columns.map(({ name }) => right(name))],
    rows: all.map(({ row }, place) => [row.name, ...columns.map(({ cells }) => cells[place]!)]),
  };
}

/** Above this share of other work the numbers are not meaningful. */
const quietShare = 0.1;

/** Whether the machine did other work while these were measured, by its share of the cores. */
export function quietness(all: readonly number[]): string {
  const shares = all.filter((share) => !Number.isNaN(share));
  if (shares.length === 0) return 'This system does not report its other load.';
  const largest = Math.max(...shares);
  const said = `Other work took ${decimals(median(shares) * 100, 0)} % of all cores in the median row, ${decimals(largest * 100, 0)} % in the worst.`;
  return largest > quietShare ? `**The machine was not quiet.** ${said}` : said;
}
