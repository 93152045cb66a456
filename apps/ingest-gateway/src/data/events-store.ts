import type { Sql } from '@sealgate/storage';
import type { EventFilter, EventStore, IngestEvent } from '../domain/read-events.ts';
import type { Event as EventRow, Prisma, PrismaClient } from '../generated/prisma/client.ts';

/** Where one transaction of an event lies in the ledger, as `ingest.append_v2` wrote it down. */
interface EventUnit {
  readonly channel: string;
  /** The first index and how many follow it; null where `indexes` says each. */
  readonly first: number | null;
  readonly count: number;
  readonly indexes: readonly number[] | null;
}

interface ReceiptRow {
  idx: string;
  id: string;
  transaction_id: string;
}

/** A row of the view `write_events`. */
interface WriteRow {
  event_id: string;
  network_id: string;
  key_id: string;
  types: string[];
  channel: string;
  first_index: string;
  record_count: number;
  request_id: string;
  stripped_fields: number;
  at: Date;
}

/** An event without the ids of its records. */
type Told = Omit<IngestEvent, 'records' | 'transactionIds'> & {
  readonly units: readonly EventUnit[];
  readonly records: IngestEvent['records'] | null;
};

/**
 * Events in PostgreSQL. The ids of their records are asked of the embedded ledger, where they are: an event holds only the
 * places. Of what is on Fabric, which gives no places, it holds the ids.
 */
export function eventsStore(prisma: PrismaClient, ledger: Sql): EventStore {
  return {
    async list(filter, { limit, before }) {
      const [rows, writes] = await Promise.all([
        prisma.event.findMany({
          where: { ...conditionOf(filter), ...(before === undefined ? {} : { eventId: { lt: before } }) },
          orderBy: { eventId: 'desc' },
          take: limit,
        }),
        listWrites(ledger, filter, { limit, ...(before === undefined ? {} : { before }) }),
      ]);
      const newest = [...rows.map(ofEvent), ...writes.map(ofWrite)].sort((a, b) => (a.eventId < b.eventId ? 1 : -1));
      return Promise.all(newest.slice(0, limit).map((told) => eventOf(ledger, told)));
    },
    async find(eventId) {
      const row = await prisma.event.findUnique({ where: { eventId } });
      if (row !== null) return eventOf(ledger, ofEvent(row));
      const id = digitsOf(eventId);
      if (id === undefined) return undefined;
      const text = `SELECT e.* FROM ingest.networks n, ingest.write_events e WHERE e.network_id = n.network_id AND e.id = $1`;
      const [write] = await ledger.query<WriteRow>({ text, values: [id] });
      return write === undefined ? undefined : eventOf(ledger, ofWrite(write));
    },
  };
}

function conditionOf({ networkId, type, status, from, to }: EventFilter): Prisma.EventWhereInput {
  return {
    ...(networkId === undefined ? {} : { networkId }),
    ...(type === undefined ? {} : { types: { array_contains: [type] } }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined && to === undefined
      ? {}
      : { at: { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) } }),
  };
}

/** The newest of each network, found by the index: one that is quiet is not searched for among those that are not. */
async function listWrites(
  sql: Sql,
  { networkId, type, status, from, to }: EventFilter,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<WriteRow[]> {
  if (status !== undefined && status !== 'committed') return [];
  const ends = [before === undefined ? undefined : digitsOf(before), to === undefined ? undefined : firstDigits(to)];
  const end = ends.filter((digits) => digits !== undefined).sort()[0] ?? 'f'.repeat(DIGITS);
  return sql.query<WriteRow>({
    text: `SELECT e.* FROM ingest.networks n CROSS JOIN LATERAL (
             SELECT * FROM ingest.write_events w
              WHERE w.network_id = n.network_id AND w.id >= $2 AND w.id < $3 AND ($4::text IS NULL OR w.types ? $4)
              ORDER BY w.id DESC LIMIT $5) e
            WHERE $1::text IS NULL OR n.network_id = $1 ORDER BY e.id DESC LIMIT $5`,
    values: [networkId ?? null, firstDigits(from ?? new Date(0)), end, type ?? null, limit],
  });
}

const DIGITS = 32;
const TIME_DIGITS = 12;

/** The 32 digits of an event id that we made; a uuid may be written so. */
const digitsOf = (eventId: string): string | undefined => /^evt_([0-9a-f]{32})$/.exec(eventId)?.[1];

/** The least that an id of this moment can have: ids begin with their time. */
const firstDigits = (at: Date): string => at.getTime().toString(16).padStart(TIME_DIGITS, '0').padEnd(DIGITS, '0');

function ofEvent(row: EventRow): Told {
  const { eventId, networkId, keyId, requestId, strippedFields, at } = row;
  return {
    eventId,
    networkId,
    keyId,
    requestId,
    strippedFields,
    at,
    kind: row.kind as IngestEvent['kind'],
    status: row.status as IngestEvent['status'],
    // The JSON columns were written by ourselves.
    types: row.types as string[],
    records: row.records as IngestEvent['records'] | null,
    units: unitsOf(row),
  };
}

function ofWrite(row: WriteRow): Told {
  const unit = { channel: row.channel, first: Number(row.first_index), count: row.record_count, indexes: null };
  return {
    eventId: row.event_id,
    networkId: row.network_id,
    keyId: row.key_id,
    requestId: row.request_id,
    strippedFields: row.stripped_fields,
    at: row.at,
    kind: 'write',
    status: 'committed',
    types: row.types,
    records: null,
    units: [unit],
  };
}

async function eventOf(ledger: Sql, { units, records: own, ...told }: Told): Promise<IngestEvent> {
  const records = own ?? (await Promise.all(units.map((unit) => recordsOf(ledger, unit)))).flat();
  return { ...told, records, transactionIds: [...new Set(records.map(({ transactionId }) => transactionId))] };
}

function unitsOf({ channel, firstIndex, recordCount, indexes, more }: EventRow): EventUnit[] {
  if (channel === null) return [];
  const first = firstIndex === null ? null : Number(firstIndex);
  return [
    { channel, first, count: recordCount, indexes: indexes as number[] | null },
    ...(more as unknown as EventUnit[]),
  ];
}

async function recordsOf(ledger: Sql, { channel, first, count, indexes }: EventUnit): Promise<IngestEvent['records']> {
  const places = (indexes ?? Array.from({ length: count }, (_, position) => (first ?? 0) + position)).map(String);
  const rows = await ledger.query<ReceiptRow>({
    text: 'SELECT idx, id, transaction_id FROM ledger.receipts_v1($1, $2)',
    values: [channel, places],
  });
  const byPlace = new Map(rows.map((row) => [row.idx, row]));
  return places.flatMap((place) => {
    const row = byPlace.get(place);
    return row === undefined ? [] : [{ id: row.id, channel, transactionId: row.transaction_id }];
  });
}
