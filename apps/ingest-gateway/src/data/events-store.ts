import type { Sql } from '@sealgate/storage';
import type { EventFilter, EventStore, IngestEvent } from '../domain/read-events.ts';
import { digitsOf, DIGITS, firstDigits } from '../domain/event-ids.ts';
import type { Event as EventRow, Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { requestEvents } from './request-events.ts';

/** Where one transaction of an event lies in the ledger, as `ingest.append_v3` wrote it down. */
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
    list: async (filter, page) => eventsOf(ledger, await newestOf({ prisma, ledger }, filter, page)),
    async recent(from, limit, isKnown) {
      const seen = await newestOf({ prisma, ledger }, { from }, { limit });
      return {
        seen,
        unknown: await eventsOf(
          ledger,
          seen.filter((told) => !isKnown(told)),
        ),
      };
    },
    ofRequest: (requestId, from) => requestEvents(ledger, requestId, from),
    async find(eventId) {
      const row = await prisma.event.findUnique({ where: { eventId } });
      if (row !== null) return (await eventsOf(ledger, [ofEvent(row)]))[0];
      const id = digitsOf(eventId);
      if (id === undefined) return undefined;
      const text = `SELECT e.* FROM ingest.networks n, ingest.write_events e WHERE e.network_id = n.network_id AND e.id = $1`;
      const [write] = await ledger.query<WriteRow>({ text, values: [id] });
      return write === undefined ? undefined : (await eventsOf(ledger, [ofWrite(write)]))[0];
    },
  };
}

interface Page {
  readonly limit: number;
  readonly before?: string;
}

/** Of both tables together, newest first. */
async function newestOf(
  { prisma, ledger }: { readonly prisma: PrismaClient; readonly ledger: Sql },
  filter: EventFilter,
  { limit, before }: Page,
): Promise<Told[]> {
  const [rows, writes] = await Promise.all([
    prisma.event.findMany({
      where: { AND: [conditionOf(filter), before === undefined ? {} : { eventId: { lt: before } }] },
      orderBy: { eventId: 'desc' },
      take: limit,
    }),
    listWrites(ledger, filter, { limit, ...(before === undefined ? {} : { before }) }),
  ]);
  const newest = [...rows.map(ofEvent), ...writes.map(ofWrite)].sort((a, b) => (a.eventId < b.eventId ? 1 : -1));
  return newest.slice(0, limit);
}

function conditionOf({ networkId, type, status, from, to, ...more }: EventFilter): Prisma.EventWhereInput {
  const { kind, channel, eventIds } = more;
  return {
    ...(networkId === undefined ? {} : { networkId }),
    ...(kind === undefined ? {} : { kind }),
    ...(channel === undefined ? {} : { OR: inChannel(channel) }),
    ...(eventIds === undefined ? {} : { eventId: { in: [...eventIds] } }),
    ...(type === undefined ? {} : { types: { array_contains: [type] } }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined && to === undefined
      ? {}
      : { at: { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) } }),
  };
}

/** The first channel of an event is a column, further ones are told beside it; on Fabric each record tells its own. */
const inChannel = (channel: string): Prisma.EventWhereInput[] => [
  { channel },
  { more: { array_contains: [{ channel }] } },
  { records: { array_contains: [{ channel }] } },
];

/** The newest of each network, found by the index: one that is quiet is not searched for among those that are not. */
async function listWrites(sql: Sql, filter: EventFilter, { limit, before }: Page): Promise<WriteRow[]> {
  const { type, channel, from = new Date(0) } = filter;
  if (!mayBeWrite(filter)) return [];
  // The name of a channel begins with that of its network.
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

/** The table of writes holds nothing but committed ones. */
const mayBeWrite = ({ status = 'committed', kind = 'write' }: EventFilter): boolean =>
  status === 'committed' && kind === 'write';

/** The digits that a page ends before. */
function endOf(to: Date | undefined, before: string | undefined): string {
  const ends = [before === undefined ? undefined : digitsOf(before), to === undefined ? undefined : firstDigits(to)];
  return ends.filter((digits) => digits !== undefined).sort()[0] ?? 'f'.repeat(DIGITS);
}

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

/** With the ids of their records, of which the ledger is asked once for each channel. */
async function eventsOf(ledger: Sql, all: readonly Told[]): Promise<IngestEvent[]> {
  const units = all.flatMap((told) => (told.records === null ? told.units : []));
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
  return all.map(({ units: of, records: own, ...told }) => {
    const records = own ?? of.flatMap(recordsOf);
    return { ...told, records, transactionIds: [...new Set(records.map(({ transactionId }) => transactionId))] };
  });
}

function unitsOf({ channel, firstIndex, recordCount, indexes, more }: EventRow): EventUnit[] {
  if (channel === null) return [];
  const first = firstIndex === null ? null : Number(firstIndex);
  return [
    { channel, first, count: recordCount, indexes: indexes as number[] | null },
    ...(more as unknown as EventUnit[]),
  ];
}

const placesOf = ({ first, count, indexes }: EventUnit): string[] =>
  (indexes ?? Array.from({ length: count }, (_, position) => (first ?? 0) + position)).map(String);

async function receiptsOf(
  ledger: Sql,
  channel: string,
  units: readonly EventUnit[],
): Promise<ReadonlyMap<string, ReceiptRow>> {
  const rows = await ledger.query<ReceiptRow>({
    text: 'SELECT idx, id, transaction_id FROM ledger.receipts_v1($1, $2)',
    values: [channel, [...new Set(units.flatMap(placesOf))]],
  });
  return new Map(rows.map((row) => [row.idx, row]));
}
