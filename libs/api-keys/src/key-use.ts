import assert from 'node:assert/strict';
import { AppError } from '@sealgate/errors';
import { mapOutages, writeBehind, type Sql } from '@sealgate/storage';
import { liveKeyCondition } from './api-keys.ts';
import { BoundedMap } from './bounded-map.ts';

// What a request does with its key: finds the caller, and records the use of the key.

interface CallersByHashOptions<Row, Caller> {
  readonly sql: Sql;
  /** Of the prepared statement. */
  readonly name: string;
  /** What a row has besides `key_hash`, and the tables that it is of; `k` has the columns of `api_keys`. */
  readonly columns: string;
  readonly from: string;
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

const CACHE_TTL_MS = 10_000;
const MAX_CACHED = 10_000;

/**
 * Looks callers up in the database: `find` never answers from a cache, because a revocation must take effect at once on
 * every replica. All look-ups of one turn of the event loop are one query, with one index probe per key.
 */
export function callersByHash<Row extends { readonly key_hash: Buffer }, Caller>(
  options: CallersByHashOptions<Row, Caller>,
): CallersByHash<Caller> {
  const { sql, name, columns, from, callerOf, endsAtMs, now, deadlineMs } = options;
  const text = `SELECT k.key_hash, ${columns} FROM ${from} WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;
  const known = new BoundedMap<string, { readonly caller: Caller; readonly untilMs: number }>(MAX_CACHED);
  const batcher = new TickBatcher<Buffer, Caller | undefined>(async (hashes) => {
    const digits = hashes.map(digitsOf);
    const distinct = new Map(digits.map((each, position) => [each, hashes[position]!]));
    const askedAtMs = now();
    const values = [[...distinct.values()], new Date(askedAtMs)];
    const rows = await sql.query<Row>({ name, text, values }, { deadlineMs });
    const callers = new Map(rows.map((row) => [digitsOf(row.key_hash), callerOf(row)]));
    if (endsAtMs !== undefined) {
      for (const each of distinct.keys()) if (!callers.has(each)) known.delete(each);
      for (const row of rows) {
        const each = digitsOf(row.key_hash);
        known.set(each, { caller: callers.get(each)!, untilMs: Math.min(askedAtMs + CACHE_TTL_MS, endsAtMs(row)) });
      }
    }
    return digits.map((each) => callers.get(each));
  });
  return {
    find: (keyHash) => mapOutages(() => batcher.call(keyHash), { detail: 'The key store cannot be reached.' }),
    lately(keyHash) {
      const found = known.get(digitsOf(keyHash));
      return found !== undefined && now() < found.untilMs ? found.caller : undefined;
    },
  };
}

const digitsOf = (hash: Buffer): string => hash.toString('latin1');

interface Waiting<In, Out> {
  readonly input: In;
  resolve(output: Out): void;
  reject(error: unknown): void;
}

/**
 * Batches all calls of one turn of the event loop: the look-ups of a hundred concurrent requests become one query.
 * `run` gets the inputs in call order, duplicates included, and must return outputs in that order. It must end by
 * itself; the batcher adds no deadline and no retry.
 */
export class TickBatcher<In, Out> {
  readonly #run: (inputs: In[]) => Promise<Out[]>;
  readonly #maxBatch: number;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  #waiting: Waiting<In, Out>[] = [];
  #running = 0;
  #scheduled = false;

  /**
   * At most `maxBatch` inputs per call and `maxRunning` concurrent calls; later inputs, at most `maxWaiting`, wait and
   * are batched.
   */
  constructor(
    run: (inputs: In[]) => Promise<Out[]>,
    {
      maxBatch = 256,
      maxRunning = 2,
      maxWaiting = 10_000,
    }: { maxBatch?: number; maxRunning?: number; maxWaiting?: number } = {},
  ) {
    this.#run = run;
    this.#maxBatch = maxBatch;
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
    assert(maxBatch >= 1 && maxRunning >= 1, 'A batcher needs room for one call of one input.');
  }

  /**
   * @throws AppError OVERLOADED if too many inputs wait; the error of `run`, to each caller of that batch.
   */
  call(input: In): Promise<Out> {
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(new AppError('OVERLOADED', 'Too many look-ups wait.'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      this.#schedule();
    });
  }

  /** An immediate runs after all sockets of this turn have been read; a microtask does not. */
  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#maxRunning) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#running < this.#maxRunning) {
      const all = this.#waiting.length <= this.#maxBatch;
      const batch = all ? this.#waiting : this.#waiting.splice(0, this.#maxBatch);
      if (all) this.#waiting = [];
      this.#running += 1;
      void this.#settle(batch);
    }
  }

  async #settle(batch: readonly Waiting<In, Out>[]): Promise<void> {
    try {
      const outputs = await this.#run(batch.map(({ input }) => input));
      assert(outputs.length === batch.length, 'A batch has one answer for each input.');
      outputs.forEach((output, index) => batch[index]?.resolve(output));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#running -= 1;
    if (this.#waiting.length > 0) this.#schedule();
  }
}

export interface LastUsedWriter {
  /** Records that the key is in use now. Returns at once; never throws. */
  touch(id: string): void;
  /** Writes the recorded uses. Never rejects. */
  flush(): Promise<void>;
  /** Writes the recorded uses and ignores later ones. Never rejects. */
  close(): Promise<void>;
}

const INTERVAL_MS = 60_000;
/** Maximum keys tracked. Beyond it, touches are dropped until entries are a minute old. */
const MAX_KEYS = 50_000;

/**
 * Writes the time of last use outside of requests: at most once a minute per key over all replicas, and batched into one
 * UPDATE. A failed write is dropped; the next use of the key makes another.
 */
export function lastUsedWriter(options: {
  readonly sql: Sql;
  /** The schema that `apiKeyMigrations` was run in. */
  readonly schema: string;
  /** What is used, with its id and the time of its last use. Default: keys. */
  readonly rows?: { readonly table: string; readonly id: string; readonly at: string };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Delay from the first touch to the write of all touched keys. Default: 1,000. */
  readonly delayMs?: number;
  /** Called for failed writes. */
  readonly onError?: (error: unknown) => void;
}): LastUsedWriter {
  const { sql, now, delayMs = 1_000 } = options;
  const { table, id: idColumn, at: atColumn } = options.rows ?? { table: 'api_keys', id: 'id', at: 'last_used_at' };
  const text = updateText(`${options.schema}.${table}`, idColumn, atColumn);
  const writtenAt = new Map<string, number>();

  const dropOld = (): void => {
    for (const [id, at] of writtenAt) {
      if (now() - at < INTERVAL_MS) return; // In order of time.
      writtenAt.delete(id);
    }
  };

  const behind = writeBehind<number>({
    write(touched) {
      dropOld();
      const dates = [...touched.values()].map((at) => new Date(at));
      return sql.query({
        name: `${table} last used`,
        text,
        values: [[...touched.keys()], dates],
      });
    },
    delayMs,
    mostWaiting: MAX_KEYS,
    onFailure(error, touched) {
      for (const id of touched.keys()) writtenAt.delete(id);
      options.onError?.(error);
    },
  });

  return {
    touch(id) {
      const at = now();
      const last = writtenAt.get(id);
      if (last !== undefined && at - last < INTERVAL_MS) return;
      if (last === undefined && writtenAt.size >= MAX_KEYS) dropOld();
      if (last === undefined && writtenAt.size >= MAX_KEYS) return;
      writtenAt.delete(id); // So that it moves to the end.
      writtenAt.set(id, at);
      behind.put(id, at);
    },
    flush: behind.flush,
    close: behind.close,
  };
}

/**
 * Rows are locked in id order and locked rows are skipped, so replicas cannot deadlock and do not wait for a rotation.
 * The condition enforces the rate over all replicas.
 */
function updateText(table: string, id: string, at: string): string {
  return `UPDATE ${table} AS k SET ${at} = due.at
    FROM (SELECT k.${id}, used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
            JOIN ${table} k ON k.${id} = used.id
           WHERE k.${at} IS NULL OR k.${at} <= used.at - interval '${INTERVAL_MS} milliseconds'
           ORDER BY k.${id} FOR NO KEY UPDATE OF k SKIP LOCKED) AS due
   WHERE k.${id} = due.${id}`;
}
