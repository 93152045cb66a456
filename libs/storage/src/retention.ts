import { setTimeout as rest } from 'node:timers/promises';
import { backgroundLoop } from './background-loop.ts';
import type { Sql, Statement } from './database.ts';

/** Most rows of one step: a transaction of its own, of some ten milliseconds. */
const ROWS_AT_ONCE = 1000;
/**
 * How many times as long as a step took nothing is removed after it: removal gets a fifth of one connection, and a database
 * that is busy, where steps are slow, is left alone for longer.
 */
const REST_SHARE = 4;
const LONGEST_REST_MS = 30_000;
const EVERY_MS = 3_600_000;
/** Soon after the start, so that a process that never lives for an hour removes something, too. */
const FIRST_AFTER_MS = 60_000;

/** Removes at most so many rows, and tells how many it removed: fewer than it might have are the last. */
export type RemovalStep = (atMost: number) => Promise<number>;

/** The rows of `table` that `condition` finds by an index, in whose order `orderBy` is; `values` fill `$1..$n` of it. */
export interface Removal {
  readonly table: string;
  readonly condition: string;
  readonly orderBy: string;
  readonly values: readonly unknown[];
}

/**
 * One step of a removal. The rows are looked up by the order of an index, removed by their places, and passed over where
 * another transaction has them: it reads no more than it removes, and waits for nobody. Gives one row, `{gone}`.
 */
export function removalStatement({ table, condition, orderBy, values }: Removal, atMost: number): Statement {
  return {
    text: `WITH gone AS (DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM ${table} WHERE ${condition} ORDER BY ${orderBy} LIMIT $${values.length + 1}
                FOR UPDATE SKIP LOCKED)) RETURNING 1)
           SELECT count(*)::integer AS gone FROM gone`,
    values: [...values, atMost],
  };
}

/** The step of a removal that is decided anew each time, as its time moves on. */
export const removalStep =
  (sql: Sql, removal: () => Removal): RemovalStep =>
  async (atMost) => {
    const [row] = await sql.query<{ gone: number }>(removalStatement(removal(), atMost));
    return row?.gone ?? 0;
  };

/** Takes steps until nothing is left, with a rest after each; how many rows went. Ends early once `signal` is aborted. */
export async function removeInSteps(
  step: RemovalStep,
  signal?: AbortSignal,
  rowsAtOnce = ROWS_AT_ONCE,
): Promise<number> {
  for (let removed = 0; ;) {
    const startMs = performance.now();
    const count = await step(rowsAtOnce);
    removed += count;
    if (count < rowsAtOnce || signal?.aborted === true) return removed;
    const restMs = Math.min(LONGEST_REST_MS, REST_SHARE * (performance.now() - startMs));
    await rest(restMs, undefined, { ...(signal === undefined ? {} : { signal }) }).catch(() => undefined);
  }
}

/**
 * Removes once an hour what nobody needs any more, one removal after the other. One that fails is told by its name, keeps no
 * other from its turn, and is tried again an hour later. Returns what stops it, after the step that runs.
 */
export function retain(
  steps: Readonly<Record<string, RemovalStep>>,
  onFailure: (name: string, error: unknown) => void,
): () => Promise<void> {
  const loop = backgroundLoop({
    firstAfterMs: FIRST_AFTER_MS,
    pauseMs: EVERY_MS,
    async work(stopping) {
      for (const [name, step] of Object.entries(steps)) {
        if (stopping.aborted) return;
        await removeInSteps(step, stopping).catch((error: unknown) => onFailure(name, error));
      }
    },
    onFailure: (error) => onFailure('any', error),
  });
  return () => loop.stop();
}
