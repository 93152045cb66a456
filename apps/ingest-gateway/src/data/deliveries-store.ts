import { hash } from 'node:crypto';
import { COUNT_LIMIT } from '@sealgate/paging';
import { writeBehind, type Sql } from '@sealgate/storage';
import { timeOfDigits, type EventStore, type IngestEvent } from '../domain/read-events.ts';

/** An event of a source, or the count of one minute's deliveries that left no event. */
export interface ListedDelivery {
  /** Sort key of the list: higher is newer. */
  readonly position: string;
  readonly at: Date;
  readonly outcome: 'written' | 'conflict' | 'unknown' | 'replayed' | 'refused';
  /** Set for refusals and conflicts. */
  readonly code: string | null;
  /** Set for conflicts, and for refusals of the delivery itself. */
  readonly reason: string | null;
  readonly deliveries: number;
  readonly requestId: string;
  readonly eventId: string | null;
  readonly types: readonly string[];
  readonly records: readonly { id: string; channel: string; transactionId: string }[];
}

export interface DeliveriesStore {
  /** Newest first, after the position `before`. With an id, only deliveries to which their sender gave it. */
  list(
    sourceId: string,
    page: { limit: number; before?: string | undefined; deliveryId?: string | undefined },
  ): Promise<ListedDelivery[]>;
  /** How many rows `list` has, COUNT_LIMIT at most. */
  count(sourceId: string, deliveryId?: string): Promise<number>;
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

/** A conflict has an event, which lists it; it is only counted here. */
export const CONFLICT = 'conflict';

/** The time of the last delivery, then the digits that tell counts of one minute apart. */
const SHOWN_AT = `lpad(to_hex(floor(extract(epoch FROM last_at) * 1000)::bigint), 12, '0') || substr(c.position, 13)`;

const OUTCOMES = { committed: 'written', rejected: 'conflict', unknown: 'unknown' } as const;

/** Results of the deliveries of a source: its events, and the counts of deliveries without an event. */
export function deliveriesStore(sql: Sql, events: EventStore): DeliveriesStore {
  return {
    async list(sourceId, { limit, before = 'g', deliveryId }) {
      const [listed, counts] = await Promise.all([
        listEvents(sql, events, { sourceId, limit, before, deliveryId }),
        // What is counted has no ids.
        deliveryId === undefined ? listCounts(sql, { sourceId, limit, before }) : [],
      ]);
      const all = [...listed, ...counts.map(ofCount)];
      return all.sort((one, other) => (one.position < other.position ? 1 : -1)).slice(0, limit);
    },
    async count(sourceId, deliveryId) {
      const ofId = { text: COUNT_BY_ID, values: [sourceId, deliveryId] };
      const [row] = await sql.query<{ n: number }>(
        deliveryId === undefined ? { text: COUNT, values: [sourceId] } : ofId,
      );
      return row?.n ?? 0;
    },
  };
}

/** Each part by its index on the source. */
const COUNT = `SELECT count(*)::int AS n FROM (
    (SELECT 1 FROM ingest.events WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id ~ '^evt_[0-9a-f]{32}$'
      LIMIT ${COUNT_LIMIT})
    UNION ALL
    (SELECT 1 FROM ingest.writes WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
      LIMIT ${COUNT_LIMIT})
    UNION ALL
    (SELECT 1 FROM ingest.delivery_counts WHERE source_id = $1 AND outcome <> '${CONFLICT}' LIMIT ${COUNT_LIMIT})
    LIMIT ${COUNT_LIMIT}) counted`;

/** By the indexes on the ids of deliveries. */
const COUNT_BY_ID = `SELECT count(*)::int AS n FROM (
    (SELECT 1 FROM ingest.events WHERE delivery_id = $2 AND delivery_id <> '' AND key_id = $1
        AND event_id ~ '^evt_[0-9a-f]{32}$' LIMIT ${COUNT_LIMIT})
    UNION ALL
    (SELECT 1 FROM ingest.writes WHERE delivery_id = $2 AND delivery_id <> '' AND key_id = convert_to($1, 'UTF8')
      LIMIT ${COUNT_LIMIT})
    LIMIT ${COUNT_LIMIT}) counted`;

interface PageOf {
  readonly sourceId: string;
  readonly limit: number;
  readonly before: string;
}

/** A source has fewer counts in one minute: they differ in outcome, code and reason. */
const MOST_PER_MINUTE = 100;

/**
 * Counts by the time of their last delivery, as they are shown. The index orders them by minute only, so the counts of
 * one minute more than asked for are read.
 */
function listCounts(sql: Sql, { sourceId, limit, before }: PageOf): Promise<CountRow[]> {
  const minuteOf = before === 'g' ? 'g' : endOfMinute(timeOfDigits(before).getTime());
  return sql.query<CountRow>({
    text: `SELECT ${SHOWN_AT} AS position, outcome, code, reason, deliveries, request_id, last_at
             FROM ingest.delivery_counts c
            WHERE source_id = $1 AND c.position < $2 || 'g' AND ${SHOWN_AT} < $3 AND outcome <> '${CONFLICT}'
            ORDER BY c.position DESC LIMIT $4`,
    values: [sourceId, minuteOf, before, limit + MOST_PER_MINUTE],
  });
}

/** Finds the ids by each table's index on the source, then reads the events as every other list does. */
async function listEvents(
  sql: Sql,
  events: EventStore,
  { sourceId, limit, before, deliveryId }: PageOf & { readonly deliveryId: string | undefined },
): Promise<ListedDelivery[]> {
  const ofId = deliveryId === undefined ? '' : `AND delivery_id = $5 AND delivery_id <> ''`;
  const rows = await sql.query<{ id: string }>({
    text: `(SELECT event_id AS id FROM ingest.events
             WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id < 'evt_' || $2 ${ofId}
               AND event_id ~ '^evt_[0-9a-f]{32}$' ORDER BY event_id DESC LIMIT $3)
           UNION ALL
           (SELECT 'evt_' || encode(uuid_send(event_id), 'hex') FROM ingest.writes
             WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
               AND event_id < $4::uuid ${ofId} ORDER BY event_id DESC LIMIT $3)
           ORDER BY id DESC LIMIT $3`,
    values: [
      ...[sourceId, before, limit, before === 'g' ? 'f'.repeat(32) : before],
      ...(deliveryId === undefined ? [] : [deliveryId]),
    ],
  });
  const found = (await Promise.all(rows.map(({ id }) => events.find(id)))).filter((event) => event !== undefined);
  const reasonOf = await conflictReasons(sql, sourceId, found);
  return found.map((event) => {
    const position = event.eventId.slice('evt_'.length);
    const { code = null, reason = null } = reasonOf(event) ?? {};
    return {
      position,
      // The time in the id, which orders the list; that of the event is some milliseconds later.
      at: timeOfDigits(position),
      outcome: OUTCOMES[event.status],
      code,
      reason,
      deliveries: 1,
      requestId: event.requestId,
      eventId: event.eventId,
      types: event.types,
      records: event.records,
    };
  });
}

interface ReasonRow {
  event_id: string | null;
  request_id: string;
  code: string;
  reason: string;
}

/**
 * Code and reason of each conflict, from its row among the refused deliveries. A row that was processed again has the
 * event of that, so rows are also found by the request.
 */
async function conflictReasons(
  sql: Sql,
  sourceId: string,
  events: readonly IngestEvent[],
): Promise<(event: IngestEvent) => ReasonRow | undefined> {
  const conflicts = events.filter(({ status }) => status === 'rejected');
  if (conflicts.length === 0) return () => undefined;
  const rows = await sql.query<ReasonRow>({
    text: `SELECT event_id, request_id, code, reason FROM ingest.refused_deliveries
            WHERE source_id = $1 AND is_authentic AND code IN ('IDEMPOTENCY_KEY_REUSED', 'RECORD_CONFLICT')
              AND (event_id = ANY ($2) OR request_id = ANY ($3))
            ORDER BY event_id = ANY ($2) DESC NULLS LAST, refused_id DESC LIMIT $4`,
    values: [
      sourceId,
      conflicts.map(({ eventId }) => eventId),
      conflicts.map(({ requestId }) => requestId),
      2 * conflicts.length,
    ],
  });
  return ({ eventId, requestId, status }) =>
    status === 'rejected'
      ? (rows.find((row) => row.event_id === eventId) ?? rows.find((row) => row.request_id === requestId))
      : undefined;
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

/** Deliveries of one source, minute and outcome that left no event, and conflicts. */
interface DeliveryCount {
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

/** The digits of the last millisecond of a minute. */
function endOfMinute(atMs: number): string {
  const endMs = (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS - 1;
  return endMs.toString(16).padStart(TIME_DIGITS, '0');
}

/** The last millisecond of the minute, then a hash of outcome, code and reason. */
function positionOf({ atMs, outcome, code = '', reason = '' }: DeliveryCount): string {
  return endOfMinute(atMs) + hash('sha256', `${outcome} ${code} ${reason}`).slice(0, POSITION_DIGITS - TIME_DIGITS);
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
