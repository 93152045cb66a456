import type { Log } from '@sealgate/observability';
import type { Sql } from '@sealgate/storage';

const AT_ONCE = 5000;

/** Removes events older than `days`, a few thousand at a time. Returns how many went. */
export async function removeOldEvents(sql: Sql, days: number, now: number): Promise<number> {
  const before = new Date(now - days * 86_400_000);
  let removed = 0;
  for (;;) {
    const rows = await sql.query<{ count: string }>({
      text: `WITH gone AS (DELETE FROM ingest.events WHERE event_id IN
               (SELECT event_id FROM ingest.events WHERE at < $1 ORDER BY event_id LIMIT $2) RETURNING 1)
             SELECT count(*) FROM gone`,
      values: [before, AT_ONCE],
    });
    const count = Number(rows[0]?.count ?? 0);
    removed += count;
    if (count < AT_ONCE) return removed;
  }
}

const EVERY_MS = 3_600_000;

/** Removes old events once an hour; returns what stops it. A failure is logged and tried again an hour later. */
export function retainEvents(options: { sql: Sql; days: number; now: () => number; log: Log }): () => void {
  const { sql, days, now, log } = options;
  const timer = setInterval(() => {
    removeOldEvents(sql, days, now()).catch((error: unknown) =>
      log.warn('event_retention_failed', { reason: String(error) }),
    );
  }, EVERY_MS);
  return () => clearInterval(timer);
}
