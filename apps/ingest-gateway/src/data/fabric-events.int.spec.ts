import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UnitResult } from '@sealgate/ledger-port';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { migrations } from '../ingest-migrations.ts';
import { writeFabricEvent } from './write-events.ts';

let postgres: ThrowawayPostgres;
let sql: Database;
beforeAll(async () => {
  postgres = await preparedPostgres('ingest', (url) => migrate({ url, sets: migrations }));
  sql = openDatabase({
    url: postgres.url,
    applicationName: 'test',
    maxConnections: 4,
    connectTimeoutMs: 2000,
    deadlineMs: 10_000,
  });
}, 60_000);
afterAll(async () => {
  await sql.close();
  await postgres.stop();
});

const atMs = Date.UTC(2026, 0, 2, 3, 4, 5);

const unitOf = (eventId: string, channel: string, units: number) => ({
  network: 'acme',
  channel,
  event: { eventId, strippedFields: 2, units, keyId: 'key_1', requestId: 'req_1', types: ['a', 'b'] },
});

const writtenOf = (transactionId: string, channel: string, ids: readonly string[]): UnitResult => ({
  outcome: 'written',
  transactionId,
  note: '',
  records: ids.map((id) => ({ id, channel, transactionId, existing: false })),
});

async function eventOf(eventId: string): Promise<unknown> {
  const text = `SELECT status, channel, record_count, records, types, stripped_fields, extract(epoch FROM at)::bigint AS at
                  FROM ingest.events WHERE event_id = $1`;
  const [row] = await sql.query<object>({ text, values: [eventId] });
  return row;
}

describe('the event of a write on Fabric', () => {
  it('contains what was written; the same transaction again changes nothing', async () => {
    const writeUnit = () =>
      writeFabricEvent(
        sql,
        unitOf('evt_one', 'acme.main', 1),
        writtenOf('t1', 'acme.main', ['r1', 'quoted "\\ id']),
        atMs,
      );
    await writeUnit();
    const expected = {
      status: 'committed',
      channel: 'acme.main',
      record_count: 2,
      records: [
        { id: 'r1', channel: 'acme.main', transactionId: 't1' },
        { id: 'quoted "\\ id', channel: 'acme.main', transactionId: 't1' },
      ],
      types: ['a', 'b'],
      stripped_fields: 2,
      at: String(atMs / 1000),
    };
    expect(await eventOf('evt_one')).toEqual(expected);
    await writeUnit();
    expect(await eventOf('evt_one')).toEqual(expected);
  });

  it('is unknown until every transaction of the request is committed, in any order', async () => {
    const second = unitOf('evt_two', 'acme.other', 2);
    await writeFabricEvent(sql, second, writtenOf('t3', 'acme.other', ['r1']), atMs);
    expect(await eventOf('evt_two')).toMatchObject({ status: 'unknown', record_count: 1 });
    await writeFabricEvent(sql, second, writtenOf('t3', 'acme.other', ['r1']), atMs);
    expect(await eventOf('evt_two')).toMatchObject({ status: 'unknown', record_count: 1 });
    await writeFabricEvent(sql, unitOf('evt_two', 'acme.main', 2), writtenOf('t2', 'acme.main', ['r1', 'r2']), atMs);
    expect(await eventOf('evt_two')).toMatchObject({
      status: 'committed',
      record_count: 3,
      records: [
        { id: 'r1', channel: 'acme.other', transactionId: 't3' },
        { id: 'r1', channel: 'acme.main', transactionId: 't2' },
        { id: 'r2', channel: 'acme.main', transactionId: 't2' },
      ],
    });
  });

  it('is rejected for a conflict, unless a part of the request is committed', async () => {
    const conflict: UnitResult = { outcome: 'conflict', id: 'r1' };
    await writeFabricEvent(sql, unitOf('evt_no', 'acme.main', 1), conflict, atMs);
    expect(await eventOf('evt_no')).toMatchObject({ status: 'rejected', channel: null, record_count: 0, records: [] });
    await writeFabricEvent(sql, unitOf('evt_part', 'acme.main', 2), writtenOf('t4', 'acme.main', ['r1']), atMs);
    await writeFabricEvent(sql, unitOf('evt_part', 'acme.other', 2), conflict, atMs);
    expect(await eventOf('evt_part')).toMatchObject({ status: 'unknown', record_count: 1 });
  });
});
