import type { AppendUnit, UnitResult } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readNote, readUnitEvent } from '../domain/unit-note.ts';

/**
 * Writes the event of one transaction of a request on Fabric, or adds it to the event that its first one made: until every
 * transaction of the request is in, the event says unknown. The same transaction again changes nothing.
 */
export async function writeFabricEvent(
  sql: Sql,
  unit: Pick<AppendUnit, 'network' | 'channel' | 'note'>,
  result: UnitResult,
  atMs: number,
): Promise<void> {
  const { eventId, strippedFields, units } = readNote(unit.note);
  const { keyId, requestId, types } = readUnitEvent(unit.note);
  const written = 'records' in result ? result.records : [];
  const status = 'records' in result ? (units === 1 ? 'committed' : 'unknown') : 'rejected';
  const records = written.map(({ id, transactionId }) => ({ id, channel: unit.channel, transactionId }));
  await sql.query({
    text: `INSERT INTO ingest.events AS known (event_id, network_id, key_id, kind, status, types, channel, record_count,
                                               records, request_id, stripped_fields, at)
           VALUES ($1, $2, $3, 'write', $4, $5, $6, $7, $8, $9, $10, to_timestamp($11 / 1000.0))
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
    ],
  });
}
