import { releaseStack, type BenchContext, type ReleaseStack } from '../bench-context.ts';
import { fillAssets } from '../gateway/fill-assets.ts';
import { prepareRiskSite, type RiskSite } from '../gateway/risk-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import type { SectionReport } from '../report.ts';
import { coldPages } from './reads-cold.ts';
import { planOfPages, readCounts, type ReadCounts } from './reads-plan.ts';
import { readsReport, summariseReads } from './reads-report.ts';
import { readRows, type ReadRow } from './reads-rows.ts';
import { readPage, walkAll } from './reads-walk.ts';
import { runRounds, runSteadily, warmUpRows, type Pace } from './run-rows.ts';

/** Pages per second of the fixed-rate part. */
const pagesPerSecond = 200;
const coldRounds = { normal: 400, quick: 50 };

/** The partner list of surface A at size: every page beside bare Express, at a fixed rate, and in any order. */
export async function readsSection(context: BenchContext): Promise<SectionReport> {
  const { generator, options } = context;
  const stack = releaseStack();
  context.stack.own('surface A', async () => void (await stack.releaseAll()));
  const { site, fillMs } = await filledSite(context, stack);
  context.tell('Walking over every page');
  const walk = await walkAll(context, site, options.ledgerRecords);
  const plan = await planOfPages(site.sql, () => readPage(site, walk.cursors[0]));
  const rows = await readRows(context, { site, walk, stack });
  const runRow = ({ plan: sent }: ReadRow, pace: Pace): Promise<LoadResult> =>
    generator.run({ ...sent, ...pace, connections: options.connections });
  await warmUpRows(context, rows, runRow);
  const before = await readCounts(site.sql); // Counters of earlier reads are flushed by then.
  context.tell('Reading near and far pages, each over a connection of its own');
  const rounds = options.quick ? coldRounds.quick : coldRounds.normal;
  const cold = await coldPages(site, { cursors: walk.cursors, rounds, signal: context.signal });
  await runRounds(context, rows, runRow);
  await runSteadily(context, rows, { perSecond: pagesPerSecond, what: 'pages', runRow });
  const counts = difference(await readCounts(site.sql), before);
  const summaries = rows.map(summariseReads);
  await stack.releaseAll();
  const coldReads = rounds * cold.length;
  return readsReport(context, { site, fillMs, walk, plan, counts, coldReads, cold, rows, summaries });
}

async function filledSite(context: BenchContext, stack: ReleaseStack): Promise<{ site: RiskSite; fillMs: number }> {
  const { ledgerRecords: assets } = context.options;
  const site = await prepareRiskSite(context, { name: 'reads', redisUrl: context.redis?.url, stack });
  context.tell(`Making an organisation of ${assets} assets`);
  const startedAt = performance.now();
  await fillAssets(site, assets);
  return { site, fillMs: performance.now() - startedAt };
}

const difference = (after: ReadCounts, before: ReadCounts): ReadCounts => ({
  sequentialScans: after.sequentialScans - before.sequentialScans,
  indexScans: after.indexScans - before.indexScans,
  entries: after.entries - before.entries,
});
