import type { Sql } from '@sealgate/storage';
import { placesOf, readableOf, type CommonRow, type EventRow, type EventUnit, type Unreadable } from './event-rows.ts';
import { countEvents, EVENT_COLUMNS, pageOf, type WriteRow } from './event-pages.ts';
import {
  digitsOf,
  firstDigits,
  timeOfDigits,
  type EventFilter,
  type EventPage,
  type EventStore,
  type IngestEvent,
} from '../domain/read-events.ts';

interface ReceiptRow {
  idx: string;
  id: string;
  transaction_id: string;
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
  /** Merges both tables. */
  const merged = async (filter: EventFilter, page: EventPage): Promise<StoredEvent[]> => {
    const [rows, writes] = await pageOf(sql, filter, page);
    const turned = page.oldestFirst === true ? -1 : 1;
    const all = [...rows.map(ofEvent), ...writes.map(ofWrite)];
    return all.sort((a, b) => (a.eventId < b.eventId ? turned : -turned)).slice(0, page.limit);
  };
  return {
    list: async (filter, page) => eventsOf(sql, await merged(filter, page)),
    count: (filter) => countEvents(sql, filter),
    async recent(from, limit, isKnown) {
      const seen = await merged({ from }, { limit });
      const unknown = seen.filter((stored) => !isKnown(stored));
      return { seen, unknown: await eventsOf(sql, unknown) };
    },
    ofRequest: (requestId, from) => requestEvents(sql, requestId, from),
    async find(eventId) {
      const [row] = await sql.query<EventRow>({
        text: `SELECT ${EVENT_COLUMNS} FROM ingest.events WHERE event_id = $1`,
        values: [eventId],
      });
      if (row !== undefined) return (await eventsOf(sql, [ofEvent(row)]))[0];
      const id = digitsOf(eventId);
      if (id === undefined) return undefined;
      const text = `SELECT e.* FROM ingest.networks n, ingest.write_events e WHERE e.network_id = n.network_id AND e.id = $1`;
      const [write] = await sql.query<WriteRow>({ text, values: [id] });
      return write === undefined ? undefined : (await eventsOf(sql, [ofWrite(write)]))[0];
    },
  };
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
             WHERE e.request_id = $1 AND e.request_id !~ '^req_[0-9a-f]{32}$' AND e.event_id >= $2
             ORDER BY e.event_id DESC LIMIT ${MOST})
           UNION ALL
           (SELECT ${WRITE_ID} FROM ingest.writes w
             WHERE w.request_id = $3 AND substr(w.request_id, 1, 1) <> '\\x00'::bytea AND w.event_id >= $4
             ORDER BY w.event_id DESC LIMIT ${MOST})`,
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
