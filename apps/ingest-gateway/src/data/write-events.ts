import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { AppendUnit, UnitEvent, UnitResult } from '@sealgate/ledger-port';
import { writeBehind, type Sql } from '@sealgate/storage';
import type { RejectedDelivery } from '../domain/take-delivery.ts';

// Writes the events that the append functions cannot write in the transaction of their records: those of pings, of
// rejected deliveries, of late outcomes, and of writes on Fabric.

interface PingEvent {
  readonly eventId: string;
  readonly networkId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly atMs: number;
}

const MOST_WAITING = 10_000;
const FLUSH_EVERY_MS = 100;

/** Events of pings, written in batches off the request path. */
export function pingEvents({ sql, onDropped }: { sql: Sql; onDropped: (count: number) => void }) {
  const behind = writeBehind<PingEvent>({
    write: (batch) => insertPings(sql, [...batch.values()]),
    delayMs: FLUSH_EVERY_MS,
    mostWaiting: MOST_WAITING,
    onFailure: (_error, batch) => onDropped(batch.size),
  });
  return {
    /** Queues the event and returns. It is written shortly after, or dropped and counted where the queue is full. */
    add(event: PingEvent): void {
      if (!behind.put(event.eventId, event)) onDropped(1);
    },
    flush: behind.flush,
  };
}

async function insertPings(sql: Sql, batch: readonly PingEvent[]): Promise<void> {
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
           SELECT e, n, k, 'ping', 'committed', '[]', r, 0, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) p (e, n, k, r, t)
           ON CONFLICT DO NOTHING`,
    values: [
      batch.map(({ eventId }) => eventId),
      batch.map(({ networkId }) => networkId),
      batch.map(({ keyId }) => keyId),
      batch.map(({ requestId }) => requestId),
      batch.map(({ atMs }) => atMs),
    ],
  });
}

/** Writes the event of a delivery that was rejected as a conflict, unless the ledger already did. */
export async function writeRejectedDelivery(sql: Sql, event: RejectedDelivery, atMs: number): Promise<void> {
  const { eventId, networkId, sourceId, requestId, types, strippedFields, deliveryId } = event;
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at,
                                      delivery_id)
           VALUES ($1, $2, $3, 'write', 'rejected', $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
    values: [
      eventId,
      networkId,
      sourceId,
      JSON.stringify(types),
      requestId,
      strippedFields,
      new Date(atMs),
      deliveryId,
    ],
  });
}

function eventOf({ event }: Pick<AppendUnit, 'event'>): UnitEvent {
  assert(event !== undefined, 'Every unit of the gateway has the event of its request.');
  return event;
}

const ATTEMPTS = 10;
const PAUSE_MS = 200;

/**
 * Writes the event of a request that was answered OUTCOME_UNKNOWN, once the outcome is known. Usually the event already
 * exists, written with the records; it is missing where the sender's own retry, which has another event, was written
 * first.
 */
export async function writeLateEvent(sql: Sql, unit: AppendUnit, result: UnitResult, atMs: number): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await insertLate(sql, unit, result, atMs);
    } catch (error) {
      // This runs as an outage ends, so the first connections may still be broken.
      if (attempt === ATTEMPTS) throw error;
      await delay(PAUSE_MS);
    }
  }
}

async function insertLate(sql: Sql, unit: AppendUnit, result: UnitResult, atMs: number): Promise<void> {
  const { eventId, strippedFields, keyId, requestId, types, deliveryId = '' } = eventOf(unit);
  const written = 'records' in result ? result : undefined;
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, channel, record_count, records,
                                      request_id, stripped_fields, at, delivery_id)
           SELECT $1::text, $2::text, $3, 'write', $4, $5::jsonb, $6, $7::integer, $8::jsonb, $9, $10::integer,
                  to_timestamp($11::bigint / 1000.0), $12
            WHERE NOT EXISTS (SELECT FROM ingest.writes WHERE network_id = $2 AND event_id = right($1, 32)::uuid)
           ON CONFLICT DO NOTHING`,
    values: [
      eventId,
      unit.network,
      keyId,
      written === undefined ? 'rejected' : 'committed',
      JSON.stringify(types),
      written === undefined ? null : unit.channel,
      written?.records.length ?? 0,
      // By name: the index of a receipt is that in the log of its epoch.
      written === undefined
        ? null
        : JSON.stringify(
            written.records.map(({ id, transactionId }) => ({ id, channel: unit.channel, transactionId })),
          ),
      requestId,
      strippedFields,
      atMs,
      deliveryId,
    ],
  });
}

/**
 * Writes the event of one transaction of a request on Fabric, or merges it into the event of the request's first
 * transaction. The status is `unknown` until all transactions of the request are committed. Idempotent per transaction.
 */
export async function writeFabricEvent(
  sql: Sql,
  unit: Pick<AppendUnit, 'network' | 'channel' | 'event'>,
  result: UnitResult,
  atMs: number,
): Promise<void> {
  const { eventId, strippedFields, units, keyId, requestId, types, deliveryId = '' } = eventOf(unit);
  const written = 'records' in result ? result.records : [];
  const status = 'records' in result ? (units === 1 ? 'committed' : 'unknown') : 'rejected';
  const records = written.map(({ id, transactionId }) => ({ id, channel: unit.channel, transactionId }));
  await sql.query({
    text: `INSERT INTO ingest.events AS known (event_id, network_id, key_id, kind, status, types, channel, record_count,
                                               records, request_id, stripped_fields, at, delivery_id)
           VALUES ($1, $2, $3, 'write', $4, $5, $6, $7, $8, $9, $10, to_timestamp($11 / 1000.0), $13)
           ON CONFLICT (event_id) DO UPDATE
              SET records = known.records || EXCLUDED.records,
                  record_count = known.record_count + EXCLUDED.record_count,
                  status = CASE WHEN (SELECT count(DISTINCT one ->> 'channel')
                                        FROM jsonb_array_elements(known.records || EXCLUDED.records) one) >= $12
                                THEN 'committed' ELSE known.status END
            WHERE EXCLUDED.channel IS NOT NULL
              AND NOT known.records @> jsonb_build_array(jsonb_build_object('channel', EXCLUDED.channel))`,
    values: [
      eventId,
      unit.network,
      keyId,
      status,
      JSON.stringify(types),
      'records' in result ? unit.channel : null,
      records.length,
      JSON.stringify(records),
      requestId,
      strippedFields,
      atMs,
      units,
      deliveryId,
    ],
  });
}
