import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { fillAssets } from '../gateway/fill-assets.ts';
import { prepareRiskSite, type RiskSite } from '../gateway/risk-site.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';
import { releaseStack, type ReleaseStack } from '../release-stack.ts';
import type { SectionReport } from '../report.ts';
import { coldPages } from './reads-cold.ts';
import { planOfPages, readCounts, type ReadCounts } from './reads-plan.ts';
import { readsReport, summariseReads } from './reads-report.ts';
import { readRows, type ReadRow } from './reads-rows.ts';
import { readPage, walkAll } from './reads-walk.ts';

const settleMs = 500;
/** Pages each second of the part whose rate is fixed. */
export const pagesPerSecond = 200;
const coldRounds = { normal: 400, quick: 50 };

/** The partner list of surface A at size: every page of it read beside bare Express, at a fixed rate, and in any order. */
export async function readsSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('surface A', async () => void (await stack.releaseAll()));
  const { site, fillMs } = await filledSite(context, stack);
  context.tell('Walking over every page');
  const walk = await walkAll(context, site, context.options.ledgerRecords);
  const plan = await planOfPages(site.sql, () => readPage(site, walk.cursors[0]));
  const rows = await readRows(context, { site, walk, stack });
  await warmUpRows(context, rows);
  const before = await readCounts(site.sql); // What came before is told by then.
  context.tell('Reading near and far pages, each over a connection of its own');
  const rounds = context.options.quick ? coldRounds.quick : coldRounds.normal;
  const cold = await coldPages(site, { cursors: walk.cursors, rounds, signal: context.signal });
  await runRounds(context, rows);
  await runSteadily(context, rows);
  const counts = difference(await readCounts(site.sql), before);
  const summaries = rows.map(summariseReads);
  await stack.releaseAll();
  const coldReads = rounds * cold.length;
  return readsReport(context, { site, fillMs, walk, plan, counts, coldReads, cold, rows, summaries });
}

async function filledSite(context: BenchContext, stack: ReleaseStack): Promise<{ site: RiskSite; fillMs: number }> {
  const { ledgerRecords: assets } = context.options;
  const site = await prepareRiskSite(context, stack);
  context.tell(`Making an organisation of ${assets} assets`);
  const startedAt = performance.now();
  await fillAssets(site, assets);
  return { site, fillMs: performance.now() - startedAt };
}

async function warmUpRows(context: BenchContext, rows: readonly ReadRow[]): Promise<void> {
  const { options, signal, tell } = context;
  for (const row of rows) {
    tell(`Warming up: ${row.name}`);
    const run = (): Promise<LoadResult> => runRow(context, row, { until: { durationMs: options.warmUpMs } });
    row.warmUps.push(...(await warmUp(run, { requests: row.warmUpRequests, signal })));
    await delay(settleMs);
  }
}

/** Round by round in turn, so that what the machine does besides meets all of them. */
async function runRounds(context: BenchContext, rows: readonly ReadRow[]): Promise<void> {
  const { options, signal, tell } = context;
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds}`);
    for (const row of rows) {
      signal.throwIfAborted();
      row.rounds.push(await runRow(context, row, { until: { durationMs: options.roundMs } }));
      await delay(settleMs);
    }
  }
}

/** At a fixed rate, whatever the answers do. */
async function runSteadily(context: BenchContext, rows: readonly ReadRow[]): Promise<void> {
  const { options, signal, tell } = context;
  const requests = Math.ceil((pagesPerSecond * options.roundMs) / 1_000);
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds} at ${pagesPerSecond} pages each second`);
    for (const row of rows) {
      signal.throwIfAborted();
      row.steady.push(await runRow(context, row, { until: { requests }, perSecond: pagesPerSecond }));
      await delay(settleMs);
    }
  }
}

const runRow = (
  { generator, options }: BenchContext,
  { plan }: ReadRow,
  pace: Pick<LoadPlan, 'until' | 'perSecond'>,
): Promise<LoadResult> => generator.run({ ...plan, ...pace, connections: options.connections });

const difference = (after: ReadCounts, before: ReadCounts): ReadCounts => ({
  sequentialScans: after.sequentialScans - before.sequentialScans,
  indexScans: after.indexScans - before.indexScans,
  entries: after.entries - before.entries,
});
