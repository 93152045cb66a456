import { tellingOutages, type Sql } from '@sealgate/storage';
import { TickBatcher } from './tick-batcher.ts';

export interface CallersByHashOptions<Row, Caller> {
  readonly sql: Sql;
  /**
   * Gives a row for each of the hashes `$1` (bytea[]) whose key is live at `$2`, with its `key_hash`; `liveKeyCondition`
   * goes into it. Prepared under its name.
   */
  readonly statement: { readonly name: string; readonly text: string };
  readonly callerOf: (row: Row) => Caller;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Of one query. */
  readonly deadlineMs: number;
}

export interface CallersByHash<Caller> {
  /**
   * Whose live key has this hash; undefined when there is none.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key"; OVERLOADED when too many
   *   look-ups wait.
   */
  find(keyHash: Buffer): Promise<Caller | undefined>;
}

const MOST_AT_ONCE = 256;

/**
 * Looks callers up in the database on every request, because a revocation acts at once on every replica: nothing is cached.
 * All look-ups of one turn of the event loop are one query, by one index probe a key.
 */
export function callersByHash<Row extends { readonly key_hash: Buffer }, Caller>(
  options: CallersByHashOptions<Row, Caller>,
): CallersByHash<Caller> {
  const { sql, statement, callerOf, now, deadlineMs } = options;
  const batcher = new TickBatcher<Buffer, Caller | undefined>(
    async (hashes) => {
      const names = hashes.map(nameOf);
      const distinct = new Map(names.map((name, position) => [name, hashes[position]!]));
      const values = [[...distinct.values()], new Date(now())];
      const rows = await sql.query<Row>({ ...statement, values }, { deadlineMs });
      const callers = new Map(rows.map((row) => [nameOf(row.key_hash), callerOf(row)]));
      return names.map((name) => callers.get(name));
    },
    { maxBatch: MOST_AT_ONCE, maxRunning: 2 },
  );
  return {
    find: (keyHash) => tellingOutages(() => batcher.call(keyHash), { detail: 'The key store cannot be reached.' }),
  };
}

const nameOf = (hash: Buffer): string => hash.toString('latin1');
