import { writeBehind, type Sql } from '@sealgate/storage';
import { keyTable } from './key-queries.ts';

export interface LastUsedWriter {
  /** Records that the key is in use now. Returns at once; never throws. */
  touch(id: string): void;
  /** Writes the recorded uses. Never rejects. */
  flush(): Promise<void>;
  /** Writes the recorded uses and ignores later ones. Never rejects. */
  close(): Promise<void>;
}

export interface LastUsedWriterOptions {
  readonly sql: Sql;
  /** The schema that `apiKeyMigrations` was run in. */
  readonly schema: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Delay from the first touch to the write of all touched keys. Default: 1,000. */
  readonly delayMs?: number;
  /** Called for failed writes. */
  readonly onError?: (error: unknown) => void;
}

const INTERVAL_MS = 60_000;
/** Maximum keys tracked. Beyond it, touches are dropped until entries are a minute old. */
const MAX_KEYS = 50_000;

/**
 * Writes `last_used_at` outside of requests: at most once a minute per key over all replicas, and batched into one
 * UPDATE. A failed write is dropped; the next use of the key makes another.
 */
export function lastUsedWriter(options: LastUsedWriterOptions): LastUsedWriter {
  const { sql, now, delayMs = 1_000 } = options;
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
function updateText(schema: string): string {
  const table = keyTable(schema);
  return `UPDATE ${table} AS k SET last_used_at = due.at
    FROM (SELECT k.id, used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
            JOIN ${table} k ON k.id = used.id
           WHERE k.last_used_at IS NULL OR k.last_used_at <= used.at - interval '${INTERVAL_MS} milliseconds'
           ORDER BY k.id FOR NO KEY UPDATE OF k SKIP LOCKED) AS due
   WHERE k.id = due.id`;
}
