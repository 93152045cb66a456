import type { Sql } from '@sealgate/storage';
import { placesOf, readableOf, type CommonRow, type EventRow, type EventUnit, type Unreadable } from './event-rows.ts';
import {
  digitsOf,
  DIGITS,
  firstDigits,
  timeOfDigits,
  type EventFilter,
  type EventStore,
  type IngestEvent,
} from '../domain/read-events.ts';

interface ReceiptRow {
  idx: string;
  id: string;
  transaction_id: string;
}

interface WriteRow extends CommonRow {
  channel: string;
  first_index: string;
}

/** An event without the ids of its records. */
type StoredEvent = Omit<IngestEvent, 'records' | 'transactionIds'> & {
  readonly units: readonly EventUnit[];
  readonly records: IngestEvent['records'] | null;
};

/**
 * Events in PostgreSQL. Events in the embedded ledger hold only places; the ids of their records are read from the
 * ledger. Events on Fabric, which has no places, hold the ids themselves. `onUnreadable` is told of each row of which not
 * everything can be shown; it must not throw.
 */
export function eventsStore(sql: Sql, onUnreadable: (unreadable: Unreadable) => void = () => undefined): EventStore {
  const ofEvent = (row: EventRow): StoredEvent => storedOf(readableOf(row, onUnreadable));
  /** Merges both tables, newest first. */
  const newestOf = async (filter: EventFilter, page: Page): Promise<StoredEvent[]> => {
    const [rows, writes] = await Promise.all([listRows(sql, filter, page), listWrites(sql, filter, page)]);
    const newest = [...rows.map(ofEvent), ...writes.map(ofWrite)].sort((a, b) => (a.eventId < b.eventId ? 1 : -1));
    return newest.slice(0, page.limit);
  };
  return {
    list: async (filter, page) => eventsOf(sql, await newestOf(filter, page)),
    async recent(from, limit, isKnown) {
      const seen = await newestOf({ from }, { limit });
      const unknown = seen.filter((stored) => !isKnown(stored));
      return { seen, unknown: await eventsOf(sql, unknown) };
    },
    ofRequest: (requestId, from) => requestEvents(sql, requestId, from),
    async find(eventId) {
      const [row] = await sql.query<EventRow>({ text: `${EVENTS} WHERE event_id = $1`, values: [eventId] });
      if (row !== undefined) return (await eventsOf(sql, [ofEvent(row)]))[0];
      const id = digitsOf(eventId);
      if (id === undefined) return undefined;
      const text = `SELECT e.* FROM ingest.networks n, ingest.write_events e WHERE e.network_id = n.network_id AND e.id = $1`;
      const [write] = await sql.query<WriteRow>({ text, values: [id] });
      return write === undefined ? undefined : (await eventsOf(sql, [ofWrite(write)]))[0];
    },
  };
}

interface Page {
  readonly limit: number;
  readonly before?: string | undefined;
}

const EVENTS = `SELECT event_id, network_id, key_id, kind, status, types, channel, first_index, record_count, indexes, more,
         records, request_id, stripped_fields, at
    FROM ingest.events`;

/** The first channel of an event is a column, further ones are in `more`; on Fabric each record names its own. */
function listRows(sql: Sql, filter: EventFilter, { limit, before }: Page): Promise<EventRow[]> {
  const { networkId, kind, status, type, channel, eventIds, from, to } = filter;
  return sql.query<EventRow>({
    text: `${EVENTS}
            WHERE ($1::text IS NULL OR network_id = $1) AND ($2::text IS NULL OR kind = $2)
              AND ($3::text IS NULL OR status = $3) AND ($4::text IS NULL OR types ? $4)
              AND ($5::text IS NULL OR channel = $5 OR more @> $6 OR records @> $6)
              AND ($7::text[] IS NULL OR event_id = ANY ($7)) AND ($8::timestamptz IS NULL OR at >= $8)
              AND ($9::timestamptz IS NULL OR at < $9) AND ($10::text IS NULL OR event_id < $10)
            ORDER BY event_id DESC LIMIT $11`,
    values: [
      ...[networkId, kind, status, type, channel].map((value) => value ?? null),
      JSON.stringify([{ channel }]),
      ...[eventIds, from, to, before].map((value) => value ?? null),
      limit,
    ],
  });
}

/** The newest of each network, by the index: a quiet network is not searched for among the rows of busy ones. */
async function listWrites(sql: Sql, filter: EventFilter, { limit, before }: Page): Promise<WriteRow[]> {
  const { type, channel, from = new Date(0) } = filter;
  if (!mayBeWrite(filter)) return [];
  // The name of a channel starts with its network's id.
  const networkId = filter.networkId ?? channel?.split('.')[0];
  const ids = filter.eventIds?.map(digitsOf).filter((digits) => digits !== undefined);
  return sql.query<WriteRow>({
    text: `SELECT e.* FROM ingest.networks n CROSS JOIN LATERAL (
             SELECT * FROM ingest.write_events w
              WHERE w.network_id = n.network_id AND w.id >= $2 AND w.id < $3 AND ($4::text IS NULL OR w.types ? $4)
                AND ($6::text IS NULL OR w.channel = $6) ${ids === undefined ? '' : 'AND w.id = ANY ($7::uuid[])'}
              ORDER BY w.id DESC LIMIT $5) e
            WHERE $1::text IS NULL OR n.network_id = $1 ORDER BY e.id DESC LIMIT $5`,
    values: [
      ...[networkId ?? null, firstDigits(from), endOf(filter.to, before), type ?? null, limit, channel ?? null],
      ...(ids === undefined ? [] : [ids]),
    ],
  });
}

/** The table of writes holds committed events only. */
const mayBeWrite = ({ status = 'committed', kind = 'write' }: EventFilter): boolean =>
  status === 'committed' && kind === 'write';

/** The exclusive upper bound of a page, as digits of an event id. */
function endOf(to: Date | undefined, before: string | undefined): string {
  const ends = [before === undefined ? undefined : digitsOf(before), to === undefined ? undefined : firstDigits(to)];
  return ends.filter((digits) => digits !== undefined).sort()[0] ?? 'f'.repeat(DIGITS);
}

function storedOf(row: EventRow): StoredEvent {
  const { kind, status, records, channel, first_index: firstIndex, record_count: count, indexes } = row;
  const first = firstIndex === null ? null : Number(firstIndex);
  const units = channel === null ? [] : [{ channel, first, count, indexes }, ...row.more];
  return { ...commonOf(row), kind, status, records, units };
}

function ofWrite(row: WriteRow): StoredEvent {
  const { channel, first_index: first, record_count: count } = row;
  const units = [{ channel, first: Number(first), count, indexes: null }];
  return { ...commonOf(row), kind: 'write', status: 'committed', records: null, units };
}

function commonOf(row: CommonRow) {
  const { event_id: eventId, network_id: networkId, key_id: keyId, types, at } = row;
  return { eventId, networkId, keyId, types, requestId: row.request_id, strippedFields: row.stripped_fields, at };
}

/** Adds the ids of the records, with one query of the ledger per channel. */
async function eventsOf(ledger: Sql, all: readonly StoredEvent[]): Promise<IngestEvent[]> {
  const units = all.flatMap((stored) => (stored.records === null ? stored.units : []));
  const receipts = new Map(
    await Promise.all(
      [...Map.groupBy(units, ({ channel }) => channel)].map(
        async ([channel, of]) => [channel, await receiptsOf(ledger, channel, of)] as const,
      ),
    ),
  );
  const recordsOf = (unit: EventUnit): IngestEvent['records'] =>
    placesOf(unit).flatMap((place) => {
      const row = receipts.get(unit.channel)?.get(place);
      return row === undefined ? [] : [{ id: row.id, channel: unit.channel, transactionId: row.transaction_id }];
    });
  return all.map(({ units: of, records: own, ...stored }) => {
    const records = own ?? of.flatMap(recordsOf);
    return { ...stored, records, transactionIds: [...new Set(records.map(({ transactionId }) => transactionId))] };
  });
}

async function receiptsOf(
  ledger: Sql,
  channel: string,
  units: readonly EventUnit[],
): Promise<ReadonlyMap<string, ReceiptRow>> {
  const rows = await ledger.query<ReceiptRow>({
    text: 'SELECT idx, id, transaction_id FROM ledger.receipts($1, $2)',
    values: [channel, [...new Set(units.flatMap(placesOf))]],
  });
  return new Map(rows.map((row) => [row.idx, row]));
}

/** Maximum per table. A request leaves one event, plus one for each repeat under the same request id. */
const MOST = 500;

/** Upper bound of the time between a request id and its event: body, queue and write together. */
const MADE_WITHIN_MS = 120_000;

const OURS = /^req_([0-9a-f]{32})$/;

/**
 * The ids of the events of a request, from a moment on. Request ids chosen by a sender are found by the indexes
 * `events_by_request` and `writes_by_request`. Our own contain their time: events are searched in the two minutes after
 * it. Later events under the same id, from a caller that forwarded it, are not found.
 */
export async function requestEvents(sql: Sql, requestId: string, from: Date): Promise<string[]> {
  const digits = OURS.exec(requestId)?.[1];
  const rows = await sql.query<{ event_id: string }>(
    digits === undefined ? chosenBySender(requestId, from) : madeByUs(requestId, { digits, from }),
  );
  return rows.map((row) => row.event_id);
}

const WRITE_ID = `'evt_' || encode(uuid_send(w.event_id), 'hex')`;

function chosenBySender(requestId: string, from: Date) {
  const first = firstDigits(from);
  return {
    text: `(SELECT e.event_id FROM ingest.events e
             WHERE e.request_id = $1 AND e.request_id !~ '^req_[0-9a-f]{32}$' AND e.event_id >= $2 LIMIT ${MOST})
           UNION ALL
           (SELECT ${WRITE_ID} FROM ingest.writes w
             WHERE w.request_id = $3 AND substr(w.request_id, 1, 1) <> '\\x00'::bytea AND w.event_id >= $4 LIMIT ${MOST})`,
    values: [requestId, `evt_${first}`, Buffer.from(requestId), first],
  };
}

function madeByUs(requestId: string, { digits, from }: { readonly digits: string; readonly from: Date }) {
  const madeAt = timeOfDigits(digits);
  const first = firstDigits(new Date(Math.max(madeAt.getTime(), from.getTime())));
  const end = firstDigits(new Date(madeAt.getTime() + MADE_WITHIN_MS));
  return {
    text: `(SELECT e.event_id FROM ingest.events e
             WHERE e.event_id >= $2 AND e.event_id < $3 AND e.request_id = $1 LIMIT ${MOST})
           UNION ALL
           (SELECT o.event_id FROM ingest.networks n CROSS JOIN LATERAL (
              SELECT ${WRITE_ID} AS event_id FROM ingest.writes w
               WHERE w.network_id = n.network_id AND w.event_id >= $4 AND w.event_id < $5 AND w.request_id = $6
               LIMIT ${MOST}) o LIMIT ${MOST})`,
    values: [requestId, `evt_${first}`, `evt_${end}`, first, end, Buffer.from(`00${digits}`, 'hex')],
  };
}
