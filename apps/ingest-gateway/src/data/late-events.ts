import type { AppendUnit, UnitResult } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readNote } from '../domain/unit-note.ts';

/**
 * Writes the event of a request whose sender was told OUTCOME_UNKNOWN, once the outcome is known. Mostly it is there
 * already, written with the records; it is not where the sender's own retry, under an event of its own, came first.
 */
export async function writeLateEvent(sql: Sql, unit: AppendUnit, result: UnitResult, atMs: number): Promise<void> {
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
