import { tellingOutages, type Sql } from '@sealgate/storage';
import { BoundedMap } from './bounded-map.ts';
import { TickBatcher } from './tick-batcher.ts';

export interface CallersByHashOptions<Row, Caller> {
  readonly sql: Sql;
  /**
   * Returns a row with `key_hash` for each of the hashes `$1` (bytea[]) whose key is live at `$2` (use
   * `liveKeyCondition`). Prepared under its name.
   */
  readonly statement: { readonly name: string; readonly text: string };
  readonly callerOf: (row: Row) => Caller;
  /**
   * Expiry of the key: milliseconds since the epoch, Infinity if it has none. Setting this enables the cache of
   * `lately`.
   */
  readonly endsAtMs?: (row: Row) => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Deadline of one query. */
  readonly deadlineMs: number;
}

export interface CallersByHash<Caller> {
  /**
   * The caller whose live key has this hash; undefined if there is none.
   * @throws AppError UNAVAILABLE if the database gives no answer (never "no such key"); OVERLOADED if too many look-ups
   *   wait.
   */
  find(keyHash: Buffer): Promise<Caller | undefined>;
  /**
   * The caller found by the last look-up of this key in this process, if less than 10 s ago. The key may have been
   * revoked since: only for callers that confirm it in the transaction of the effect, and look it up before refusing.
   * Pure.
   */
  lately(keyHash: Buffer): Caller | undefined;
}

const MAX_BATCH = 256;
const CACHE_TTL_MS = 10_000;
const MAX_CACHED = 10_000;

/**
 * Looks callers up in the database: `find` never answers from a cache, because a revocation must take effect at once on
 * every replica. All look-ups of one turn of the event loop are one query, with one index probe per key.
 */
export function callersByHash<Row extends { readonly key_hash: Buffer }, Caller>(
  options: CallersByHashOptions<Row, Caller>,
): CallersByHash<Caller> {
  const { sql, statement, callerOf, endsAtMs, now, deadlineMs } = options;
  const known = new BoundedMap<string, { readonly caller: Caller; readonly untilMs: number }>(MAX_CACHED);
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
          known.set(name, { caller: callers.get(name)!, untilMs: Math.min(askedAtMs + CACHE_TTL_MS, endsAtMs(row)) });
        }
      }
      return names.map((name) => callers.get(name));
    },
    { maxBatch: MAX_BATCH, maxRunning: 2 },
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
