import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import type { LoadPlan, LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';

/** One line of a table: a server under load, and every round that it had. */
export interface LoadedRow {
  readonly name: string;
  /** Answers until what is hot is compiled. */
  readonly warmUpRequests: number;
  readonly warmUps: LoadResult[];
  readonly rounds: LoadResult[];
}

/** A row that has rounds at a fixed rate too. */
export interface SteadyRow extends LoadedRow {
  readonly steady: LoadResult[];
}

/** How long a round goes on, and how fast. */
export type Pace = Pick<LoadPlan, 'until' | 'perSecond'>;

export type RunRow<Row> = (row: Row, pace: Pace) => Promise<LoadResult>;

/** What a server does after its answers (integrating, logging) is not to be paid for by the next row. */
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

/** At a fixed rate, whatever the answers do. `what` is what is asked for, in the plural. */
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

/** Round by round in turn, so that what the machine does besides meets all of them. */
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
