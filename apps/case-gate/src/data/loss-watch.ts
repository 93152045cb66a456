import type { Sql } from '@sealgate/storage';
import type { DeclaredLoss } from '../domain/declared-losses.ts';

/** Declared losses of a channel, oldest first. Fails and ends as a statement of `sql` does. */
export async function readLosses(sql: Sql, channel: string, deadlineMs?: number): Promise<DeclaredLoss[]> {
  const statement = {
    name: 'gate losses',
    text: 'SELECT epoch, kept_at_ms FROM ledger.epochs_v1(ARRAY[$1::text]) ORDER BY epoch',
    values: [channel],
  };
  const rows = await sql.query<{ epoch: number; kept_at_ms: string }>(
    statement,
    deadlineMs === undefined ? undefined : { deadlineMs },
  );
  return rows.map(({ epoch, kept_at_ms: keptAtMs }) => ({ epoch, keptAtMs: Number(keptAtMs) }));
}

export interface LossWatch {
  /**
   * The declared losses, cached for less than a second: a channel resumes at least two seconds after its loss was
   * declared, so whoever gets an answer from the ledger afterwards knows of the loss.
   * @throws what reading them does.
   */
  current(): Promise<readonly DeclaredLoss[]>;
  /** Reads them, so that `current` need not. */
  refresh(): Promise<readonly DeclaredLoss[]>;
}

const FRESH_MS = 1000;

export function lossWatch(read: () => Promise<readonly DeclaredLoss[]>, now: () => number): LossWatch {
  let newest: { readonly askedMs: number; readonly losses: readonly DeclaredLoss[] } | undefined;
  let running: { readonly askedMs: number; readonly answer: Promise<readonly DeclaredLoss[]> } | undefined;
  const isFresh = (of: { readonly askedMs: number }): boolean => now() - of.askedMs < FRESH_MS;
  const refresh = (): Promise<readonly DeclaredLoss[]> => {
    if (running !== undefined && isFresh(running)) return running.answer;
    const askedMs = now();
    const answer = read().then((losses) => {
      if (newest === undefined || askedMs >= newest.askedMs) newest = { askedMs, losses };
      return losses;
    });
    const mine = { askedMs, answer };
    running = mine;
    const over = (): void => {
      if (running === mine) running = undefined;
    };
    answer.then(over, over);
    return answer;
  };
  return {
    current: () => (newest !== undefined && isFresh(newest) ? Promise.resolve(newest.losses) : refresh()),
    refresh,
  };
}
