import type { Sql } from '@sealgate/storage';
import { readableOf, runsOf, type CommonRow, type EventRow, type EventUnit, type Unreadable } from './event-rows.ts';
import { countEvents, EVENT_COLUMNS, pageOf, type WriteRow } from './event-pages.ts';
import { deliveryEvents, recordEvents, requestEvents } from './find-events.ts';
import {
  digitsOf,
  type EventFilter,
  type EventPage,
  type EventStore,
  type IngestEvent,
  type PlacesOf,
} from '../domain/read-events.ts';

/** An event without the ids of its records. */
type StoredEvent = Omit<IngestEvent, 'records' | 'transactionIds'> & {
  readonly units: readonly EventUnit[];
  readonly records: IngestEvent['records'] | null;
};

/**
 * Events in PostgreSQL. Events in the embedded ledger hold only places; the ids of their records are read from the
 * ledger. Events on Fabric, which has no places, hold the ids themselves. `onUnreadable` is told of each row of which not
 * everything can be shown; it must not throw. `placesOf` is absent on Fabric.
 */
export function eventsStore(
  sql: Sql,
  onUnreadable: (unreadable: Unreadable) => void = () => undefined,
  placesOf?: PlacesOf,
): EventStore {
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
    ofDelivery: (deliveryId) => deliveryEvents(sql, deliveryId),
    ofRecord: (recordId, { networkId }) => recordEvents(sql, recordId, { networkId, placesOf }),
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
  const recordsOf = new Map<EventUnit, IngestEvent['records']>();
  await Promise.all(
    [...Map.groupBy(units, ({ channel }) => channel)].map(async ([channel, of]) => {
      const found = await recordsOfUnits(ledger, channel, of);
      for (const [place, unit] of of.entries()) recordsOf.set(unit, found[place]!);
    }),
  );
  return all.map(({ units: of, records: own, ...stored }) => {
    const records = own ?? of.flatMap((unit) => recordsOf.get(unit)!);
    return { ...stored, records, transactionIds: [...new Set(records.map(({ transactionId }) => transactionId))] };
  });
}

interface RunRow {
  run: string;
  ids: string[];
  transaction_id: string;
}

/** For each unit of a channel its records, in order; those that are not in the ledger any more are left out. */
async function recordsOfUnits(
  ledger: Sql,
  channel: string,
  units: readonly EventUnit[],
): Promise<IngestEvent['records'][]> {
  const runs = units.flatMap((unit, place) => runsOf(unit).map((run) => ({ ...run, place })));
  const rows = await ledger.query<RunRow>({
    text: 'SELECT run, ids, transaction_id FROM ledger.run_receipts($1, $2, $3)',
    values: [channel, runs.map(({ first }) => first), runs.map(({ count }) => count)],
  });
  const records = units.map((): IngestEvent['records'][number][] => []);
  for (const { run, ids, transaction_id: transactionId } of rows)
    records[runs[Number(run) - 1]!.place]!.push(...ids.map((id) => ({ id, channel, transactionId })));
  return records;
}
