import type { Sql } from '@sealgate/storage';
import type { EventFilter, EventStore, IngestEvent } from '../domain/read-events.ts';
import type { Event as EventRow, Prisma, PrismaClient } from '../generated/prisma/client.ts';

/** Where one transaction of an event lies in the ledger, as `ingest.append_v1` wrote it down. */
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

/**
 * Events in PostgreSQL. The ids of their records are asked of the embedded ledger, where they are: an event holds only the
 * places. Of what is on Fabric, which gives no places, it holds the ids.
 */
export function eventsStore(prisma: PrismaClient, ledger: Sql): EventStore {
  return {
    async list(filter, { limit, before }) {
      const rows = await prisma.event.findMany({
        where: { ...conditionOf(filter), ...(before === undefined ? {} : { eventId: { lt: before } }) },
        orderBy: { eventId: 'desc' },
        take: limit,
      });
      return Promise.all(rows.map((row) => eventOf(ledger, row)));
    },
    async find(eventId) {
      const row = await prisma.event.findUnique({ where: { eventId } });
      return row === null ? undefined : eventOf(ledger, row);
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

async function eventOf(ledger: Sql, row: EventRow): Promise<IngestEvent> {
  const own = row.records as IngestEvent['records'] | null;
  const records = own ?? (await Promise.all(unitsOf(row).map((unit) => recordsOf(ledger, unit)))).flat();
  return {
    eventId: row.eventId,
    kind: row.kind as IngestEvent['kind'],
    networkId: row.networkId,
    keyId: row.keyId,
    status: row.status as IngestEvent['status'],
    // The JSON columns were written by ourselves.
    types: row.types as string[],
    records,
    transactionIds: [...new Set(records.map(({ transactionId }) => transactionId))],
    requestId: row.requestId,
    strippedFields: row.strippedFields,
    at: row.at,
  };
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
