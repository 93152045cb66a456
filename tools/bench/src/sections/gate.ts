import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { releaseStack, type BenchContext } from '../bench-context.ts';
import { readDecisionLog, type LoggedDecisions } from '../gateway/gate-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import type { SectionReport } from '../report.ts';
import { measureOutages } from './gate-outages.ts';
import { gateReport, summariseGate, type GateSummary } from './gate-report.ts';
import { startGateRows, type GateRow } from './gate-rows.ts';
import { profile, type Profiled } from './profile.ts';
import { runRounds, runSteadily, warmUpRows, type Pace } from './run-rows.ts';

/** Checks per second of the fixed-rate part. */
const steadyPerSecond = 1_000;
const loggedWithinMs = 60_000;
const lookAgainMs = 500;

/** The gate's check: beside bare Express, at a fixed rate, and with its database unavailable. */
export async function gateSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the gates', async () => void (await stack.releaseAll()));
  context.tell('Starting the gates');
  const rows = await startGateRows(context, stack);
  const run = (row: GateRow, pace: Pace): Promise<LoadResult> => runRow(context, row, pace);
  await warmUpRows(context, rows, run);
  await runRounds(context, rows, run);
  await runSteadily(context, rows, { perSecond: steadyPerSecond, what: 'requests', runRow: run });
  context.tell('Counting what the gates have logged');
  const summaries: GateSummary[] = [];
  for (const row of rows) summaries.push(summariseGate(row, await loggedBy(row)));
  const profiled = await profileGate(context, rows);
  await stack.releaseAll();
  const outages = await measureOutages(context);
  return gateReport(context, { rows, summaries, outages, profiled });
}

async function runRow({ generator, options }: BenchContext, row: GateRow, pace: Pace): Promise<LoadResult> {
  const { port, door, watch, mustSay, cold } = row;
  const result = await generator.run({
    ...{ port, path: door.path, headers: door.headers, body: '', bodies: door.bodies, watch, ...pace },
    ...(cold === undefined ? {} : { firstBody: cold.checks }),
    ...(mustSay === undefined ? {} : { mustSay }),
    sendsKey: false,
    keyPrefix: randomBytes(6).toString('hex'),
    connections: options.connections,
  });
  if (cold !== undefined) cold.checks += result.succeeded;
  return result;
}

/** Profiles the main thread of the first gate, where the run includes profiles. */
async function profileGate(context: BenchContext, rows: readonly GateRow[]): Promise<Profiled | undefined> {
  const row = rows.find(({ gateway, cold }) => gateway !== undefined && cold === undefined);
  if (row?.gateway === undefined || !context.options.sections.includes('profile')) return undefined;
  const until = { durationMs: context.options.roundMs };
  const work = async (): Promise<number> => (await runRow(context, row, { until })).succeeded;
  const { gateway } = row;
  return profile({ context, gateway, surface: 'case-gate' }, { what: 'gate checks', unit: 'request', work });
}

/** Undefined for a server without a log. The last decisions are written shortly after their answers. */
async function loggedBy({ site, warmUps, rounds, steady }: GateRow): Promise<LoggedDecisions | undefined> {
  if (site === undefined) return undefined;
  const told = [...warmUps, ...rounds, ...steady].reduce((sum, { succeeded }) => sum + succeeded, 0);
  const endAt = performance.now() + loggedWithinMs;
  for (;;) {
    const logged = await readDecisionLog(site);
    if (logged.rows >= told || performance.now() > endAt) return logged;
    await delay(lookAgainMs);
  }
}
