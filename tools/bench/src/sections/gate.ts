import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { warmUpRequests } from '../bodies.ts';
import { readDecisionLog, type LoggedDecisions } from '../gateway/gate-site.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';
import { releaseStack } from '../release-stack.ts';
import type { SectionReport } from '../report.ts';
import { measureOutages } from './gate-outages.ts';
import { gateReport, summariseGate, type GateSummary } from './gate-report.ts';
import { profile, type Profiled } from './profile.ts';
import { startGateRows, type GateRow } from './gate-rows.ts';

const settleMs = 500;
/** Checks each second of the part whose rate is fixed. */
export const steadyPerSecond = 1_000;
const loggedWithinMs = 60_000;

/** The gate's check: beside bare Express, at a fixed rate, and with its database gone. */
export async function gateSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the gates', async () => void (await stack.releaseAll()));
  context.tell('Starting the gates');
  const rows = await startGateRows(context, stack);
  await runRounds(context, rows);
  await runSteadily(context, rows);
  context.tell('Counting what the gates have logged');
  const summaries: GateSummary[] = [];
  for (const row of rows) summaries.push(summariseGate(row, await loggedBy(row)));
  const profiled = await profileGate(context, rows);
  await stack.releaseAll();
  const outages = await measureOutages(context);
  return gateReport(context, { rows, summaries, outages, profiled });
}

/** Round by round in turn, so that what the machine does besides meets all of them. */
async function runRounds(context: BenchContext, rows: readonly GateRow[]): Promise<void> {
  const { options, signal, tell } = context;
  for (const row of rows) {
    tell(`Warming up: ${row.name}`);
    const run = (): Promise<LoadResult> => runRow(context, row, { until: { durationMs: options.warmUpMs } });
    row.warmUps.push(...(await warmUp(run, { requests: warmUpRequests.single, signal })));
    await delay(settleMs);
  }
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
async function runSteadily(context: BenchContext, rows: readonly GateRow[]): Promise<void> {
  const { options, signal, tell } = context;
  const requests = Math.ceil((steadyPerSecond * options.roundMs) / 1_000);
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds} at ${steadyPerSecond} requests each second`);
    for (const row of rows) {
      signal.throwIfAborted();
      row.steady.push(await runRow(context, row, { until: { requests }, perSecond: steadyPerSecond }));
      await delay(settleMs);
    }
  }
}

function runRow(
  { generator, options }: BenchContext,
  row: GateRow,
  pace: Pick<LoadPlan, 'until' | 'perSecond'>,
): Promise<LoadResult> {
  const { port, door, watch, mustSay } = row;
  return generator.run({
    ...{ port, path: door.path, headers: door.headers, body: '', bodies: door.bodies, watch, ...pace },
    ...(mustSay === undefined ? {} : { mustSay }),
    sendsKey: false,
    keyPrefix: randomBytes(6).toString('hex'),
    connections: options.connections,
  });
}

/** Where the main thread of the first gate spends its time, where the run was asked for profiles. */
async function profileGate(context: BenchContext, rows: readonly GateRow[]): Promise<Profiled | undefined> {
  const row = rows.find(({ gateway }) => gateway !== undefined);
  if (row?.gateway === undefined || !context.options.sections.includes('profile')) return undefined;
  const until = { durationMs: context.options.roundMs };
  const work = async (): Promise<number> => (await runRow(context, row, { until })).succeeded;
  const { gateway } = row;
  return profile({ context, gateway, surface: 'case-gate' }, { what: 'gate checks', unit: 'request', work });
}

/** Undefined for what keeps no log. The last decisions are written a moment after they were told. */
async function loggedBy({ site, warmUps, rounds, steady }: GateRow): Promise<LoggedDecisions | undefined> {
  if (site === undefined) return undefined;
  const told = [...warmUps, ...rounds, ...steady].reduce((sum, { succeeded }) => sum + succeeded, 0);
  const endAt = performance.now() + loggedWithinMs;
  for (;;) {
    const logged = await readDecisionLog(site);
    if (logged.rows >= told || performance.now() > endAt) return logged;
    await delay(settleMs);
  }
}
