import { hash } from 'node:crypto';
import { COUNT_LIMIT } from '@sealgate/paging';
import { writeBehind, type Sql } from '@sealgate/storage';
import { defined } from '@sealgate/json';
import { timeOfDigits, type EventFilter, type EventStore, type IngestEvent } from '../domain/read-events.ts';

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

/** Which deliveries of a source to list. */
export interface DeliveryFilter {
  readonly outcome?: ListedDelivery['outcome'] | undefined;
  /** The id that its sender gave it; what is counted has none. */
  readonly deliveryId?: string | undefined;
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
}

export interface DeliveriesStore {
  /** Newest first by default, after the position `after`. */
  list(
    sourceId: string,
    page: DeliveryFilter & { limit: number; after?: string | undefined; oldestFirst?: boolean },
  ): Promise<ListedDelivery[]>;
  /** How many rows `list` has, COUNT_LIMIT at most. */
  count(sourceId: string, filter?: DeliveryFilter): Promise<number>;
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
const STATUSES = { written: 'committed', conflict: 'rejected', unknown: 'unknown' } as const;

const TIME_DIGITS = 12;
const POSITION_DIGITS = 32;
/** Above every position. */
const END = 'g';

const digitsAt = (atMs: number): string => Math.max(0, Math.floor(atMs)).toString(16).padStart(TIME_DIGITS, '0');

/** The outcome that counts have, or null where the filter means none of them; undefined means all. */
function countedOutcome({ outcome, deliveryId }: DeliveryFilter): 'replayed' | 'refused' | null | undefined {
  if (deliveryId !== undefined) return null;
  if (outcome === undefined || isCounted(outcome)) return outcome;
  return null;
}

const isCounted = (outcome: ListedDelivery['outcome'] | undefined): outcome is 'replayed' | 'refused' =>
  outcome === 'replayed' || outcome === 'refused';

/** The filter by which the data view lists these events; undefined where they are read by their source. */
async function eventFilter(
  events: EventStore,
  sourceId: string,
  { outcome, deliveryId, from, to }: DeliveryFilter,
): Promise<EventFilter | undefined> {
  if (isCounted(outcome) || (outcome === undefined && deliveryId === undefined)) return undefined;
  return {
    keyId: sourceId,
    ...(outcome === undefined ? {} : { status: STATUSES[outcome] }),
    ...(deliveryId === undefined ? {} : { eventIds: await events.ofDelivery(deliveryId) }),
    ...defined({ from, to }),
  };
}

/** The positions of a page: from `first` on, and below `before`. */
function boundsOf(
  { from, to }: DeliveryFilter,
  { after, oldestFirst }: { readonly after: string | undefined; readonly oldestFirst: boolean },
): Pick<PageOf, 'first' | 'before'> {
  const first = from === undefined ? '' : digitsAt(from.getTime());
  const end = to === undefined ? END : digitsAt(to.getTime());
  if (after === undefined) return { first, before: end };
  if (!oldestFirst) return { first, before: after < end ? after : end };
  const next = nextAfter(after);
  return { first: next > first ? next : first, before: end };
}

const nextAfter = (position: string): string =>
  (BigInt(`0x${position}`) + 1n).toString(16).padStart(POSITION_DIGITS, '0');

/** Results of the deliveries of a source: its events, and the counts of deliveries without an event. */
export function deliveriesStore(sql: Sql, events: EventStore): DeliveriesStore {
  return {
    async list(sourceId, { limit, after, oldestFirst = false, ...filter }) {
      const counted = countedOutcome(filter);
      const page = { sourceId, limit, oldestFirst, ...boundsOf(filter, { after, oldestFirst }) };
      const [listed, counts] = await Promise.all([
        listEvents(sql, events, { ...page, filter, after }),
        counted === null ? [] : listCounts(sql, { ...page, outcome: counted }),
      ]);
      const turned = oldestFirst ? -1 : 1;
      const all = [...listed, ...counts.map(ofCount)];
      return all.sort((one, other) => (one.position < other.position ? turned : -turned)).slice(0, limit);
    },
    async count(sourceId, filter = {}) {
      const ofEvents = await eventFilter(events, sourceId, filter);
      if (ofEvents !== undefined) return events.count(ofEvents);
      const { outcome, deliveryId, from, to } = filter;
      if (deliveryId !== undefined) return 0;
      const first = from === undefined ? '' : digitsAt(from.getTime());
      const end = to === undefined ? END : digitsAt(to.getTime());
      const [row] = await sql.query<{ n: number }>(
        outcome === undefined
          ? { text: COUNT, values: [sourceId, first, end, asId(first), asId(end)] }
          : { text: COUNT_OF_ONE, values: [sourceId, first, end, outcome] },
      );
      return row?.n ?? 0;
    },
  };
}

/** Digits of a position as an id of `writes`: the lowest that has them. */
const asId = (digits: string): string =>
  digits === END ? 'f'.repeat(POSITION_DIGITS) : digits.padEnd(POSITION_DIGITS, '0');

/** Each part by its index on the source. A count is placed by its minute, so its time is compared as well. */
const COUNTED = `SELECT 1 FROM ingest.delivery_counts c
      WHERE source_id = $1 AND outcome <> '${CONFLICT}' AND c.position >= $2 AND ${SHOWN_AT} >= $2 AND ${SHOWN_AT} < $3`;

const COUNT = `SELECT count(*)::int AS n FROM (
    (SELECT 1 FROM ingest.events WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id ~ '^evt_[0-9a-f]{32}$'
        AND event_id >= 'evt_' || $2::text AND event_id < 'evt_' || $3::text LIMIT ${COUNT_LIMIT})
    UNION ALL
    (SELECT 1 FROM ingest.writes WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
        AND event_id >= $4::uuid AND event_id < $5::uuid LIMIT ${COUNT_LIMIT})
    UNION ALL
    (${COUNTED} LIMIT ${COUNT_LIMIT})
    LIMIT ${COUNT_LIMIT}) counted`;

const COUNT_OF_ONE = `SELECT count(*)::int AS n FROM (${COUNTED} AND outcome = $4 LIMIT ${COUNT_LIMIT}) counted`;

interface PageOf {
  readonly sourceId: string;
  readonly limit: number;
  readonly oldestFirst: boolean;
  /** Positions below this one, and from this one on. */
  readonly before: string;
  readonly first: string;
}

const directionOf = ({ oldestFirst }: PageOf): 'ASC' | 'DESC' => (oldestFirst ? 'ASC' : 'DESC');

/** A source has fewer counts in one minute: they differ in outcome, code and reason. */
const MOST_PER_MINUTE = 100;

/**
 * Counts by the time of their last delivery, as they are shown. The index orders them by minute only, so the counts of
 * one minute more than asked for are read.
 */
function listCounts(
  sql: Sql,
  page: PageOf & { readonly outcome: 'replayed' | 'refused' | undefined },
): Promise<CountRow[]> {
  const { sourceId, limit, before, first, outcome } = page;
  const minuteOf = before === END ? END : endOfMinute(timeOfDigits(before).getTime());
  return sql.query<CountRow>({
    text: `SELECT ${SHOWN_AT} AS position, outcome, code, reason, deliveries, request_id, last_at
             FROM ingest.delivery_counts c
            WHERE source_id = $1 AND c.position < $2 || 'g' AND ${SHOWN_AT} < $3 AND outcome <> '${CONFLICT}'
              AND c.position >= $5 AND ${SHOWN_AT} >= $5${outcome === undefined ? '' : ' AND outcome = $6'}
            ORDER BY c.position ${directionOf(page)} LIMIT $4`,
    values: [sourceId, minuteOf, before, limit + MOST_PER_MINUTE, first, ...(outcome === undefined ? [] : [outcome])],
  });
}

interface EventsOf extends PageOf {
  readonly filter: DeliveryFilter;
  /** The position after which the page begins. */
  readonly after: string | undefined;
}

/** The events of a page: of one outcome as the data view finds them, of any by the ids of the source. */
async function foundEvents(sql: Sql, events: EventStore, page: EventsOf): Promise<IngestEvent[]> {
  const { sourceId, limit, before, first, filter, after, oldestFirst } = page;
  const direction = directionOf(page);
  if (isCounted(filter.outcome)) return [];
  const ofEvents = await eventFilter(events, sourceId, filter);
  if (ofEvents !== undefined) {
    // A position of a count is no id of an event, but is compared as one.
    return events.list(ofEvents, { limit, oldestFirst, after: after === undefined ? undefined : `evt_${after}` });
  }
  // Each table has an index on the source.
  const rows = await sql.query<{ id: string }>({
    text: `(SELECT event_id AS id FROM ingest.events
             WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id < 'evt_' || $2::text
               AND event_id >= 'evt_' || $5::text AND event_id ~ '^evt_[0-9a-f]{32}$' ORDER BY event_id ${direction} LIMIT $3)
           UNION ALL
           (SELECT 'evt_' || encode(uuid_send(event_id), 'hex') FROM ingest.writes
             WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
               AND event_id < $4::uuid AND event_id >= $6::uuid ORDER BY event_id ${direction} LIMIT $3)
           ORDER BY id ${direction} LIMIT $3`,
    values: [sourceId, before, limit, asId(before), first, asId(first)],
  });
  return (await Promise.all(rows.map(({ id }) => events.find(id)))).filter((event) => event !== undefined);
}

async function listEvents(sql: Sql, events: EventStore, page: EventsOf): Promise<ListedDelivery[]> {
  const found = await foundEvents(sql, events, page);
  const { sourceId } = page;
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
  readonly outcome: 'replayed' | 'refused' | typeof CONFLICT;
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
