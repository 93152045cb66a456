import { tellingOutages, type Sql } from '@sealgate/storage';
import { BoundedMap } from './bounded-map.ts';
import { TickBatcher } from './tick-batcher.ts';

export interface CallersByHashOptions<Row, Caller> {
  readonly sql: Sql;
  /**
   * Gives a row for each of the hashes `$1` (bytea[]) whose key is live at `$2`, with its `key_hash`; `liveKeyCondition`
   * goes into it. Prepared under its name.
   */
  readonly statement: { readonly name: string; readonly text: string };
  readonly callerOf: (row: Row) => Caller;
  /**
   * When the key ends by itself: milliseconds since the epoch, Infinity where it does not. Present where callers are to be
   * known for a while after they were looked up: see `lately`.
   */
  readonly endsAtMs?: (row: Row) => number;
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
  /**
   * Whose key this was when it was last looked up by this process, less than 10 s ago. It may have been revoked since: a
   * guess, for whoever confirms it in the transaction of what comes of it, and looks it up before saying no. Pure.
   */
  lately(keyHash: Buffer): Caller | undefined;
}

const MOST_AT_ONCE = 256;
const KNOWN_FOR_MS = 10_000;
const MOST_KNOWN = 10_000;

/**
 * Looks callers up in the database, because a revocation acts at once on every replica: what `find` answers is never cached.
 * All look-ups of one turn of the event loop are one query, by one index probe a key.
 */
export function callersByHash<Row extends { readonly key_hash: Buffer }, Caller>(
  options: CallersByHashOptions<Row, Caller>,
): CallersByHash<Caller> {
  const { sql, statement, callerOf, endsAtMs, now, deadlineMs } = options;
  const known = new BoundedMap<string, { readonly caller: Caller; readonly untilMs: number }>(MOST_KNOWN);
  const batcher = new TickBatcher<Buffer, Caller | undefined>(
    async (hashes) => {
      const names = hashes.map(nameOf);
      const distinct = new Map(names.map((name, position) => [name, hashes[position]!]));
      const askedAtMs = now();
      const values = [[...distinct.values()], new Date(askedAtMs)];
      const rows = await sql.query<Row>({ ...statement, values }, { deadlineMs });
      const callers = new Map(rows.map((row) => [nameOf(row.key_hash), callerOf(row)]));
      if (endsAtMs !== undefined) {
        for (const name of distinct.keys()) if (!callers.has(name)) known.delete(name);
        for (const row of rows) {
          const name = nameOf(row.key_hash);
          known.set(name, { caller: callers.get(name)!, untilMs: Math.min(askedAtMs + KNOWN_FOR_MS, endsAtMs(row)) });
        }
      }
      return names.map((name) => callers.get(name));
    },
    { maxBatch: MOST_AT_ONCE, maxRunning: 2 },
  );
  return {
    find: (keyHash) => tellingOutages(() => batcher.call(keyHash), { detail: 'The key store cannot be reached.' }),
    lately(keyHash) {
      const found = known.get(nameOf(keyHash));
      return found !== undefined && now() < found.untilMs ? found.caller : undefined;
    },
  };
}

const nameOf = (hash: Buffer): string => hash.toString('latin1');
