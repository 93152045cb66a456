import { setTimeout as delay } from 'node:timers/promises';
import type { AppendUnit, UnitResult } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readNote } from '../domain/unit-note.ts';

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
  const { eventId, keyId, requestId, strippedFields, types } = readNote(unit.note);
  const written = 'records' in result ? result : undefined;
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, channel, record_count, indexes,
                                      request_id, stripped_fields, at)
           VALUES ($1, $2, $3, 'write', $4, $5, $6, $7, $8, $9, $10, to_timestamp($11 / 1000.0))
           ON CONFLICT DO NOTHING`,
    values: [
      eventId,
      unit.network,
      keyId,
      written === undefined ? 'rejected' : 'committed',
      JSON.stringify(types),
      written === undefined ? null : unit.channel,
      written?.records.length ?? 0,
      written === undefined ? null : JSON.stringify(written.records.map(({ index }) => index)),
      requestId,
      strippedFields,
      atMs,
    ],
  });
}
