import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';

/** One line of a table: a server under load, and all of its rounds. */
export interface LoadedRow {
  readonly name: string;
  /** Number of answers after which the hot code is compiled. */
  readonly warmUpRequests: number;
  readonly warmUps: LoadResult[];
  readonly rounds: LoadResult[];
}

/** A row that has fixed-rate rounds too. */
export interface SteadyRow extends LoadedRow {
  readonly steady: LoadResult[];
}

/** Length and rate of a round. */
export type Pace = Pick<LoadPlan, 'until' | 'perSecond'>;

type RunRow<Row> = (row: Row, pace: Pace) => Promise<LoadResult>;

/** A pause after each round, so that a server's background work (integrating, logging) does not affect the next. */
const settleMs = 500;

export async function warmUpRows<Row extends LoadedRow>(
  { options, signal, tell }: BenchContext,
  rows: readonly Row[],
  runRow: RunRow<Row>,
): Promise<void> {
  for (const row of rows) {
    tell(`Warming up: ${row.name}`);
    const run = (): Promise<LoadResult> => runRow(row, { until: { durationMs: options.warmUpMs } });
    row.warmUps.push(...(await warmUp(run, { requests: row.warmUpRequests, signal })));
    await delay(settleMs);
  }
}

export async function runRounds<Row extends LoadedRow>(
  context: BenchContext,
  rows: readonly Row[],
  runRow: RunRow<Row>,
): Promise<void> {
  const until = { durationMs: context.options.roundMs };
  await inTurn(context, rows, { said: '', run: async (row) => row.rounds.push(await runRow(row, { until })) });
}

/** Rounds at a fixed rate, independent of the answers. `what`: the unit in the plural, for the output. */
export async function runSteadily<Row extends SteadyRow>(
  context: BenchContext,
  rows: readonly Row[],
  { perSecond, what, runRow }: { perSecond: number; what: string; runRow: RunRow<Row> },
): Promise<void> {
  const until = { requests: Math.ceil((perSecond * context.options.roundMs) / 1_000) };
  await inTurn(context, rows, {
    said: ` at ${perSecond} ${what} each second`,
    run: async (row) => row.steady.push(await runRow(row, { until, perSecond })),
  });
}

/** Round by round in turn, so that other load of the machine affects all of them. */
async function inTurn<Row>(
  { options, signal, tell }: BenchContext,
  rows: readonly Row[],
  { said, run }: { said: string; run: (row: Row) => Promise<unknown> },
): Promise<void> {
  for (let round = 1; round <= options.rounds; round += 1) {
    tell(`Round ${round} of ${options.rounds}${said}`);
    for (const row of rows) {
      signal.throwIfAborted();
      await run(row);
      await delay(settleMs);
    }
  }
}
