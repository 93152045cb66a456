import { hash } from 'node:crypto';
import { writeBehind, type Sql } from '@sealgate/storage';
import type { EventStore } from '../domain/read-events.ts';

/** An event of a source, or the count of one minute's deliveries that left no event. */
export interface ListedDelivery {
  /** Sort key of the list: higher is newer. */
  readonly position: string;
  readonly at: Date;
  readonly outcome: 'written' | 'conflict' | 'unknown' | 'replayed' | 'refused';
  /** Set for refusals. */
  readonly code: string | null;
  /** Set for refusals of the delivery itself. */
  readonly reason: string | null;
  readonly deliveries: number;
  readonly requestId: string;
  readonly eventId: string | null;
  readonly types: readonly string[];
  readonly records: readonly { id: string; channel: string; transactionId: string }[];
}

export interface DeliveriesStore {
  /** Newest first, after the position `before`. */
  list(sourceId: string, page: { limit: number; before?: string }): Promise<ListedDelivery[]>;
}

interface CountRow {
  position: string;
  outcome: 'replayed' | 'refused';
  code: string | null;
  reason: string | null;
  deliveries: string;
  request_id: string;
  last_at: Date;
}

const OUTCOMES = { committed: 'written', rejected: 'conflict', unknown: 'unknown' } as const;

/** Results of the deliveries of a source: its events, and the counts of deliveries without an event. */
export function deliveriesStore(sql: Sql, events: EventStore): DeliveriesStore {
  return {
    async list(sourceId, { limit, before = 'g' }) {
      const [listed, counts] = await Promise.all([
        listEvents(sql, events, { sourceId, limit, before }),
        sql.query<CountRow>({
          text: `SELECT position, outcome, code, reason, deliveries, request_id, last_at FROM ingest.delivery_counts
                  WHERE source_id = $1 AND position < $2 ORDER BY position DESC LIMIT $3`,
          values: [sourceId, before, limit],
        }),
      ]);
      const all = [...listed, ...counts.map(ofCount)];
      return all.sort((one, other) => (one.position < other.position ? 1 : -1)).slice(0, limit);
    },
  };
}

/** Finds the ids by each table's index on the source, then reads the events as every other list does. */
async function listEvents(
  sql: Sql,
  events: EventStore,
  { sourceId, limit, before }: { readonly sourceId: string; readonly limit: number; readonly before: string },
): Promise<ListedDelivery[]> {
  const rows = await sql.query<{ id: string }>({
    text: `(SELECT event_id AS id FROM ingest.events
             WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id < 'evt_' || $2 ORDER BY event_id DESC LIMIT $3)
           UNION ALL
           (SELECT 'evt_' || encode(uuid_send(event_id), 'hex') FROM ingest.writes
             WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
               AND event_id < $4::uuid ORDER BY event_id DESC LIMIT $3)
           ORDER BY id DESC LIMIT $3`,
    values: [sourceId, before, limit, before === 'g' ? 'f'.repeat(32) : before],
  });
  const found = await Promise.all(rows.map(({ id }) => events.find(id)));
  return found.flatMap((event) =>
    event === undefined
      ? []
      : [
          {
            position: event.eventId.slice('evt_'.length),
            at: event.at,
            outcome: OUTCOMES[event.status],
            code: null,
            reason: null,
            deliveries: 1,
            requestId: event.requestId,
            eventId: event.eventId,
            types: event.types,
            records: event.records,
          },
        ],
  );
}

function ofCount(row: CountRow): ListedDelivery {
  const { position, outcome, code, reason, deliveries, request_id: requestId, last_at: at } = row;
  return {
    position,
    at,
    outcome,
    code,
    reason,
    deliveries: Number(deliveries),
    requestId,
    eventId: null,
    types: [],
    records: [],
  };
}

/** Deliveries of one source, minute and outcome that left no event. */
export interface DeliveryCount {
  readonly sourceId: string;
  readonly outcome: string;
  /** Set for refusals. */
  readonly code: string | undefined;
  readonly reason?: string;
  readonly skewSeconds?: number | undefined;
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
 * Counts deliveries that leave no event. The counts are written once a second, off the request path: a flooded source
 * costs one row per minute and code. At most MOST_WAITING counts are kept in memory; a failed write loses its counts.
 */
export function deliveryCounts(sql: Sql, onFailure: (error: unknown) => void) {
  const behind = writeBehind<Waiting>({
    write: (batch) => insertCounts(sql, [...batch.values()]),
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

/** The last millisecond of the minute, then a hash of outcome, code and reason. */
function positionOf({ atMs, outcome, code = '', reason = '' }: DeliveryCount): string {
  const endMs = (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS - 1;
  const time = endMs.toString(16).padStart(TIME_DIGITS, '0');
  return time + hash('sha256', `${outcome} ${code} ${reason}`).slice(0, POSITION_DIGITS - TIME_DIGITS);
}

async function insertCounts(sql: Sql, counts: readonly Waiting[]): Promise<void> {
  await sql.query({
    text: `INSERT INTO ingest.delivery_counts AS c (source_id, position, outcome, code, reason, skew_seconds, deliveries,
                                                   request_id, last_at)
           SELECT s, p, o, nullif(e, ''), nullif(w, ''), k, d, r, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
                         $8::text[], $9::bigint[]) n (s, p, o, e, d, r, t, w, k) ORDER BY s, p
           ON CONFLICT (source_id, position) DO UPDATE
              SET deliveries = c.deliveries + EXCLUDED.deliveries, request_id = EXCLUDED.request_id,
                  skew_seconds = coalesce(EXCLUDED.skew_seconds, c.skew_seconds),
                  last_at = greatest(c.last_at, EXCLUDED.last_at)`,
    values: [
      counts.map(({ sourceId }) => sourceId),
      counts.map(positionOf),
      counts.map(({ outcome }) => outcome),
      counts.map(({ code = '' }) => code),
      counts.map(({ deliveries }) => deliveries),
      counts.map(({ requestId }) => requestId),
      counts.map(({ atMs }) => Math.floor(atMs)),
      counts.map(({ reason = '' }) => reason),
      counts.map(({ skewSeconds }) => skewSeconds ?? null),
    ],
  });
}
