import { setTimeout as delay } from 'node:timers/promises';
import type { AppendUnit, UnitResult } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readNote, readUnitEvent } from '../domain/unit-note.ts';

const ATTEMPTS = 10;
const PAUSE_MS = 200;

/**
 * Writes the event of a request whose sender was told OUTCOME_UNKNOWN, once the outcome is known. Mostly it is there
 * already, written with the records; it is not where the sender's own retry, under an event of its own, came first.
 */
export async function writeLateEvent(sql: Sql, unit: AppendUnit, result: UnitResult, atMs: number): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await insert(sql, unit, result, atMs);
    } catch (error) {
      // It comes as an outage ends, so the first connection may be one that has not ended well.
      if (attempt === ATTEMPTS) throw error;
      await delay(PAUSE_MS);
    }
  }
}

async function insert(sql: Sql, unit: AppendUnit, result: UnitResult, atMs: number): Promise<void> {
  const { eventId, strippedFields } = readNote(unit.note);
  const { keyId, requestId, types } = readUnitEvent(unit.note);
  const written = 'records' in result ? result : undefined;
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, channel, record_count, records,
                                      request_id, stripped_fields, at)
           SELECT $1::text, $2::text, $3, 'write', $4, $5::jsonb, $6, $7::integer, $8::jsonb, $9, $10::integer,
                  to_timestamp($11::bigint / 1000.0)
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
    ],
  });
}
