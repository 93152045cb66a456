import { writeBehind, type Sql } from '@sealgate/storage';
import type { ActivityHour, ActivityKind } from '../domain/activity.ts';

type Counts = Record<ActivityKind, number>;

const HOUR_MS = 3_600_000;
const FLUSH_EVERY_MS = 1000;
/** Sources and hours that wait to be written. */
const MOST_WAITING = 10_000;

interface Waiting {
  readonly sourceId: string;
  readonly hourMs: number;
  readonly counts: Counts;
}

/** Counts deliveries by source and hour, and writes them once a second, off the request path. */
export function activityCounts(sql: Sql, onFailure: (error: unknown) => void) {
  const behind = writeBehind<Waiting>({
    write: (batch) => insertActivity(sql, [...batch.values()]),
    delayMs: FLUSH_EVERY_MS,
    mostWaiting: MOST_WAITING,
    onFailure,
  });
  return {
    add({ sourceId, kind, atMs }: { readonly sourceId: string; readonly kind: ActivityKind; readonly atMs: number }) {
      const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
      const key = `${sourceId} ${hourMs}`;
      const known = behind.get(key);
      if (known !== undefined) known.counts[kind] += 1;
      else
        behind.put(key, {
          sourceId,
          hourMs,
          counts: { accepted: 0, replayed: 0, conflicts: 0, refused: 0, [kind]: 1 },
        });
    },
    flush: behind.flush,
    close: behind.close,
  };
}

async function insertActivity(sql: Sql, hours: readonly Waiting[]): Promise<void> {
  const column = (kind: ActivityKind) => hours.map(({ counts }) => counts[kind]);
  await sql.query({
    text: `INSERT INTO ingest.source_activity AS a (source_id, hour, accepted, replayed, conflicts, refused)
           SELECT s, to_timestamp(h / 1000.0), n, r, c, f
             FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
                  u (s, h, n, r, c, f) ORDER BY s, h
           ON CONFLICT (source_id, hour) DO UPDATE
              SET accepted = a.accepted + EXCLUDED.accepted, replayed = a.replayed + EXCLUDED.replayed,
                  conflicts = a.conflicts + EXCLUDED.conflicts, refused = a.refused + EXCLUDED.refused`,
    values: [
      hours.map(({ sourceId }) => sourceId),
      hours.map(({ hourMs }) => hourMs),
      column('accepted'),
      column('replayed'),
      column('conflicts'),
      column('refused'),
    ],
  });
}

/** The hours of a source from a moment on, in order; hours without a delivery are absent. At most one row an hour. */
export async function readActivity(sql: Sql, sourceId: string, from: Date): Promise<ActivityHour[]> {
  return sql.query<ActivityHour>({
    text: `SELECT hour, accepted::float8 AS accepted, replayed::float8 AS replayed, conflicts::float8 AS conflicts,
                  refused::float8 AS refused
             FROM ingest.source_activity WHERE source_id = $1 AND hour >= $2 ORDER BY hour`,
    values: [sourceId, from],
  });
}
