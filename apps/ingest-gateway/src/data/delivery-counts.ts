import { hash } from 'node:crypto';
import { writeBehind, type Sql } from '@sealgate/storage';

/** Deliveries of one source, minute and outcome that left no event. */
export interface DeliveryCount {
  readonly sourceId: string;
  readonly outcome: string;
  /** Of refusals. */
  readonly code: string | undefined;
  readonly requestId: string;
  readonly atMs: number;
}

interface Waiting extends DeliveryCount {
  readonly deliveries: number;
}

const MOST_WAITING = 10_000;
const FLUSH_EVERY_MS = 1000;
const MINUTE_MS = 60_000;
const TIME_DIGITS = 12;
const POSITION_DIGITS = 32;

/**
 * Counts deliveries that left no event, and writes the counts once a second off the request path: a source that is flooded
 * costs a row for each minute and code. Counts are kept in memory up to a bound, and lost where a write fails.
 */
export function deliveryCounts(sql: Sql, onFailure: (error: unknown) => void) {
  const behind = writeBehind<Waiting>({
    write: (batch) => insert(sql, [...batch.values()]),
    delayMs: FLUSH_EVERY_MS,
    mostWaiting: MOST_WAITING,
    onFailure,
  });
  return {
    add(count: DeliveryCount): void {
      const key = `${count.sourceId} ${positionOf(count)}`;
      behind.put(key, { ...count, deliveries: (behind.get(key)?.deliveries ?? 0) + 1 });
    },
    flush: behind.flush,
    close: behind.close,
  };
}

/** The end of its minute, and what tells it from the others of that minute. */
function positionOf({ atMs, outcome, code = '' }: DeliveryCount): string {
  const endMs = (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS - 1;
  const time = endMs.toString(16).padStart(TIME_DIGITS, '0');
  return time + hash('sha256', `${outcome} ${code}`).slice(0, POSITION_DIGITS - TIME_DIGITS);
}

async function insert(sql: Sql, counts: readonly Waiting[]): Promise<void> {
  await sql.query({
    text: `INSERT INTO ingest.delivery_counts AS c (source_id, position, outcome, code, deliveries, request_id, last_at)
           SELECT s, p, o, nullif(e, ''), d, r, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
                  n (s, p, o, e, d, r, t) ORDER BY s, p
           ON CONFLICT (source_id, position) DO UPDATE
              SET deliveries = c.deliveries + EXCLUDED.deliveries, request_id = EXCLUDED.request_id,
                  last_at = greatest(c.last_at, EXCLUDED.last_at)`,
    values: [
      counts.map(({ sourceId }) => sourceId),
      counts.map(positionOf),
      counts.map(({ outcome }) => outcome),
      counts.map(({ code = '' }) => code),
      counts.map(({ deliveries }) => deliveries),
      counts.map(({ requestId }) => requestId),
      counts.map(({ atMs }) => Math.floor(atMs)),
    ],
  });
}
