import { setTimeout as pause } from 'node:timers/promises';
import { backgroundLoop } from './background-loop.ts';
import type { Sql, Statement } from './sql.ts';

/** Maximum rows of one step: a transaction of its own, of some ten milliseconds. */
const STEP_ROWS = 1000;
/**
 * Pause after a step, as a multiple of its duration: removal uses a fifth of one connection at most, and less if a busy
 * database makes steps slow.
 */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 30_000;
const INTERVAL_MS = 3_600_000;
/** Soon after the start, so that a process that never lives for an hour removes rows as well. */
const FIRST_AFTER_MS = 60_000;

/** Removes at most `atMost` rows and returns how many; fewer than `atMost` means that none are left. */
export type RemovalStep = (atMost: number) => Promise<number>;

/** Rows of `table` that match `condition`; an index must serve `condition` and `orderBy`. `values` fill `$1..$n`. */
export interface Removal {
  readonly table: string;
  readonly condition: string;
  readonly orderBy: string;
  readonly values: readonly unknown[];
}

/**
 * One step of a removal: finds rows in index order, skips locked ones (SKIP LOCKED) and deletes by ctid, so it reads no
 * more than it removes and waits for no lock. Returns one row, `{gone}`.
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

/** A step whose `removal` is evaluated each time, since its cut-off time moves. */
export const removalStep =
  (sql: Sql, removal: () => Removal): RemovalStep =>
  async (atMost) => {
    const [row] = await sql.query<{ gone: number }>(removalStatement(removal(), atMost));
    return row?.gone ?? 0;
  };

/** Runs steps with a pause after each until nothing is left or `signal` is aborted; returns the number of rows. */
export async function removeInSteps(step: RemovalStep, signal?: AbortSignal, stepRows = STEP_ROWS): Promise<number> {
  for (let removed = 0; ;) {
    const startMs = performance.now();
    const count = await step(stepRows);
    removed += count;
    if (count < stepRows || signal?.aborted === true) return removed;
    const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * (performance.now() - startMs));
    await pause(pauseMs, undefined, { ...(signal === undefined ? {} : { signal }) }).catch(() => undefined);
  }
}

/**
 * Runs all removals once an hour, one after the other. A failure is reported by name, does not stop the others, and is
 * retried an hour later. Returns a function that stops it after the running step.
 */
export function retain(
  steps: Readonly<Record<string, RemovalStep>>,
  onFailure: (name: string, error: unknown) => void,
): () => Promise<void> {
  const loop = backgroundLoop({
    firstAfterMs: FIRST_AFTER_MS,
    pauseMs: INTERVAL_MS,
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
