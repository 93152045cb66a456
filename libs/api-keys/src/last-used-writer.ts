import { writeBehind, type Sql } from '@sealgate/storage';
import { keyTable } from './key-queries.ts';

export interface LastUsedWriter {
  /** Remembers that the key is in use now. Returns at once; nothing is ever thrown. */
  touch(id: string): void;
  /** Writes what is remembered. Never rejects. */
  flush(): Promise<void>;
  /** Writes what is remembered, for the last time. Never rejects. */
  close(): Promise<void>;
}

export interface LastUsedWriterOptions {
  readonly sql: Sql;
  /** The schema that `apiKeyMigrations` was run in. */
  readonly schema: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long after a first touch all touched keys are written. Default 1,000. */
  readonly delayMs?: number;
  /** Told of writes that failed. */
  readonly onError?: (error: unknown) => void;
}

const INTERVAL_MS = 60_000;
/** Keys remembered at a time. Beyond it, touches are dropped until the minute of others is over. */
const MAX_KEYS = 50_000;

/**
 * Keeps `last_used_at` off the path of requests: at most one write a minute for each key, over all replicas, and all
 * keys of a moment in one UPDATE. A write that fails is dropped; the next use of the key makes another.
 */
export function lastUsedWriter(options: LastUsedWriterOptions): LastUsedWriter {
  const { sql, now, delayMs = 1_000 } = options;
  const writtenAt = new Map<string, number>();

  const forgetOld = (): void => {
    for (const [id, at] of writtenAt) {
      if (now() - at < INTERVAL_MS) return; // Older ones come first.
      writtenAt.delete(id);
    }
  };

  const behind = writeBehind<number>({
    write(touched) {
      forgetOld();
      const dates = [...touched.values()].map((at) => new Date(at));
      return sql.query({
        name: 'keys last used',
        text: updateText(options.schema),
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
      if (last === undefined && writtenAt.size >= MAX_KEYS) forgetOld();
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
 * Rows are locked in one order, and rows that somebody else holds are left out: two replicas can not wait for each
 * other, and neither waits for a rotation. The condition is what holds the rate over all replicas.
 */
function updateText(schema: string): string {
  const table = keyTable(schema);
  return `UPDATE ${table} AS k SET last_used_at = due.at
    FROM (SELECT k.id, used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
            JOIN ${table} k ON k.id = used.id
           WHERE k.last_used_at IS NULL OR k.last_used_at <= used.at - interval '${INTERVAL_MS} milliseconds'
           ORDER BY k.id FOR NO KEY UPDATE OF k SKIP LOCKED) AS due
   WHERE k.id = due.id`;
}
