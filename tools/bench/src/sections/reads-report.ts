import type { BenchContext } from '../bench-context.ts';
import type { RiskSite } from '../gateway/risk-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import type { Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import type { ColdPage } from './reads-cold.ts';
import type { ReadCounts, ReadPlan } from './reads-plan.ts';
import type { ReadRow } from './reads-rows.ts';
import { pageItems, type Walk } from './reads-walk.ts';
import {
  beside,
  LOAD_COLUMNS,
  loadCells,
  ratioTo,
  summariseSteadily,
  whyWithheld,
  type SteadySummary,
} from './summarise-row.ts';
import { quietness } from './throughput-report.ts';

/** One line of the table: medians of the rounds. `unlike`: answers that were no full page. */
interface ReadSummary extends SteadySummary {
  readonly kind: ReadRow['kind'];
}

export function summariseReads(row: ReadRow): ReadSummary {
  return { ...summariseSteadily(row, row.plan.watch), kind: row.kind };
}

export interface ReadsMeasured {
  readonly site: Pick<RiskSite, 'settings'>;
  readonly fillMs: number;
  readonly walk: Walk;
  readonly plan: ReadPlan;
  /** PostgreSQL's counters for everything after the warm-up. */
  readonly counts: ReadCounts;
  /** Number of those reads over cold connections. */
  readonly coldReads: number;
  readonly cold: readonly ColdPage[];
  readonly rows: readonly Pick<ReadRow, 'name' | 'warmUps' | 'rounds' | 'steady'>[];
  readonly summaries: readonly ReadSummary[];
}

export function readsReport(
  context: Pick<BenchContext, 'options' | 'machine'>,
  measured: ReadsMeasured,
): SectionReport {
  const { connections, rounds, roundMs } = context.options;
  const { fillMs, walk, plan, counts, cold, rows, summaries } = measured;
  const withheld = whyReadsWithheld(context, measured);
  const express = withheld.length > 0 ? undefined : summaries.find(({ kind }) => kind === 'express');
  const perScan = decimals(counts.entries / counts.indexScans, 1);
  return {
    title: `Lists of ${wholeNumber(walk.items)} assets`,
    tables: [speedTable(summaries, express), coldTable(cold)],
    notes: [
      `Medians of ${rounds} rounds of ${roundMs / 1_000} s each, the rows in turn; ${connections} connections, one request in flight on each, for pages of ${pageItems} in random order out of all ${wholeNumber(walk.cursors.length + 1)}. Express answers each with the same page of ${wholeNumber(Buffer.byteLength(walk.envelope))} bytes, as an object by \`res.json\`. CPU us is user and system time of the whole server process for each page; the next columns are the cost in PostgreSQL, Redis and the load generator for the same page, on the same cores.`,
      'At the fixed rate requests are due independently of the answers, and latency counts from the due time.',
      'In the second table each request has a connection of its own, one after the other, the pages in turn; latency counts from before the connection is made to the last byte.',
      quietness(summaries),
      `Before that, every page was read once, one after the other: ${wholeNumber(walk.items)} assets in order, each once; \`sealgate-verify\` verified hash and signature of ${walk.verified} of the pages. Filling took ${decimals(fillMs / 1_000, 1)} s.`,
      `PostgreSQL plans a page as ${plan.nodes.join(', ')} (${plan.index ?? 'no index'}). It counted ${wholeNumber(counts.indexScans)} scans of that index, ${perScan} entries each, and ${counts.sequentialScans} sequential scans of the table.`,
    ],
    findings: findingsOf(measured, express),
    withheld,
    measured: { ...measured, walk: { ...walk, cursors: walk.cursors.length }, rows },
  };
}

/** A scan that reads more entries than a page and its look-ahead did not start at the cursor. */
const mostEntries = pageItems + 1;
const shownFaults = 5;

function whyReadsWithheld({ machine }: Pick<BenchContext, 'machine'>, measured: ReadsMeasured): string[] {
  const { site, walk, plan, counts, coldReads, rows, summaries } = measured;
  const of = (all: readonly LoadResult[]): number => all.reduce((sum, { succeeded }) => sum + succeeded, 0);
  const pages = coldReads + rows.slice(1).reduce((sum, { rounds, steady }) => sum + of(rounds) + of(steady), 0);
  return [
    ...whyWithheld({
      rows: summaries,
      machine,
      // This section writes nothing; the settings are those of a deployed service.
      ledgered: [{ name: 'partner API', acknowledged: 0, inLedger: 0, settings: site.settings }],
    }),
    ...summaries.flatMap(({ name, unlike }) => (unlike > 0 ? [`${name}: ${unlike} answers were no full page.`] : [])),
    ...walk.faults.slice(0, shownFaults),
    ...plan.faults,
    ...(counts.sequentialScans > 0 ? [`PostgreSQL read the whole table ${counts.sequentialScans} times.`] : []),
    ...(counts.indexScans === pages
      ? []
      : [`PostgreSQL counted ${counts.indexScans} scans of the index for ${pages} pages.`]),
    ...(counts.entries <= counts.indexScans * mostEntries
      ? []
      : [`PostgreSQL read ${counts.entries} entries of the index in ${counts.indexScans} scans.`]),
  ];
}

function speedTable(summaries: readonly ReadSummary[], express: ReadSummary | undefined): ReportTable {
  return {
    columns: [
      ...[{ name: 'server' }, right('pages/s'), ...LOAD_COLUMNS],
      ...['of Express', 'at a fixed rate: p50 ms', 'p99 ms', 'worst ms'].map(right),
    ],
    rows: summaries.map((summary) => [
      summary.name,
      wholeNumber(summary.requestsPerSecond),
      ...loadCells(summary),
      decimals(ratioTo(express, summary), 2),
      decimals(summary.steady.p50Ms, 2),
      decimals(summary.steady.p99Ms, 2),
      decimals(summary.steady.worstMs, 1),
    ]),
  };
}

const coldTable = (cold: readonly ColdPage[]): ReportTable => ({
  columns: [{ name: 'page, cold connection' }, ...['p50 ms', 'p99 ms', 'of page 1'].map(right)],
  rows: cold.map(({ page, p50Ms, p99Ms }) => [
    wholeNumber(page),
    decimals(p50Ms, 2),
    decimals(p99Ms, 2),
    decimals(p50Ms / (cold[0]?.p50Ms ?? Number.NaN), 2),
  ]),
});

function findingsOf({ cold, summaries }: ReadsMeasured, express: ReadSummary | undefined): Finding[] {
  const rest = summaries.find(({ kind }) => kind === 'rest');
  const mcp = summaries.find(({ kind }) => kind === 'mcp');
  const [first, last] = [cold[0], cold.at(-1)];
  const trusted = express !== undefined && rest !== undefined && first !== undefined && last !== undefined;
  return [
    { target: 'readsOfExpress', value: trusted ? ratioTo(express, rest) : undefined, of: beside('Express', express) },
    { target: 'readsByMcp', value: trusted && mcp !== undefined ? ratioTo(rest, mcp) : undefined },
    { target: 'readsLatency', value: trusted ? rest.steady.p99Ms : undefined },
    {
      target: 'readsFarPage',
      value: trusted ? last.p50Ms / first.p50Ms : undefined,
      of: `page ${wholeNumber(last?.page)}`,
    },
  ];
}
