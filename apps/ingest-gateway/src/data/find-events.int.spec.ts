import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EmbeddedLedger } from '@sealgate/ledger-embedded';
import type { UnitResult } from '@sealgate/ledger-port';
import type { Statement } from '@sealgate/storage';
import { scansOf } from '@sealgate/testing';
import { eventIdOf, openTestEvents, record, type TestEvents } from '../testing/test-events.ts';
import { deliveryEvents, recordEvents } from './find-events.ts';
import { writeFabricEvent, writeRejectedDelivery } from './write-events.ts';

let test: TestEvents;
let ledger: EmbeddedLedger;
beforeAll(async () => {
  test = await openTestEvents();
  ledger = test.openLedger();
}, 60_000);
afterAll(async () => {
  await ledger.drain();
  await test.close();
});

const write = async (more: Parameters<TestEvents['unitOf']>[0]): Promise<string> => {
  const unit = test.unitOf(more);
  expect(await ledger.append(unit)).toMatchObject({ outcome: expect.stringMatching(/^(written|existing)$/) });
  return eventIdOf(unit);
};
const withRecord = (id: string, networkId?: string) => test.events.ofRecord(id, { networkId });

/** What a search asks the database for. */
async function askedBy(search: (sql: { query: (statement: Statement) => Promise<never[]> }) => Promise<unknown>) {
  const asked: Statement[] = [];
  await search({
    query(statement) {
      asked.push(statement);
      return Promise.resolve([]);
    },
  });
  return asked;
}

describe('the id of a delivery', () => {
  it('finds its events, written and rejected, of any network, newest first', async () => {
    const deliveryId = 'msg_2Yé';
    const first = await write({ records: [record('delivered-1')], deliveryId });
    const other = await write({ records: [record('delivered-2')], deliveryId, network: 'demo' });
    await write({ records: [record('delivered-3')], deliveryId: `${deliveryId}x` });
    await write({ records: [record('delivered-4')] });
    const conflict = test.unitOf({ records: [record('delivered-1', 2)], deliveryId });
    expect(await ledger.append(conflict)).toMatchObject({ outcome: 'conflict' });
    test.clock.nowMs += 1000;
    const about = { networkId: 'acme', sourceId: 'src_1', requestId: 'r', types: ['a'], strippedFields: 0 };
    const rejected = { ...about, eventId: test.newId('evt_'), deliveryId };
    await writeRejectedDelivery(test.sql, rejected, test.clock.nowMs);
    const all = [rejected.eventId, eventIdOf(conflict), other, first];
    expect(await test.events.ofDelivery(deliveryId)).toEqual(all);
    expect(await test.list({ eventIds: all, status: 'committed' })).toEqual([other, first]);
  });

  it('that is unknown or empty finds none', async () => {
    expect(await test.events.ofDelivery('nosuch')).toEqual([]);
    expect(await test.events.ofDelivery('')).toEqual([]);
  });

  it('is looked up in indexes alone', async () => {
    const [statement] = await askedBy((sql) => deliveryEvents(sql as never, 'msg'));
    await test.sql.transaction(async (sql) => {
      await sql.query({ text: 'SET LOCAL enable_seqscan = off' });
      const { whole, indexes } = await scansOf(sql, statement!);
      expect([whole, indexes.toSorted()]).toEqual([[], ['events_by_delivery', 'writes_by_delivery']]);
    });
  });
});

describe('the id of a record', () => {
  it('finds the event that wrote it, alone or among others, in any network or in one', async () => {
    await write({ records: [record('before')] });
    const single = await write({ records: [record('rec-1')] });
    const batch = await write({ records: ['rec-2', 'rec-3', 'rec-4'].map((id) => record(id)) });
    const demo = await write({ records: [record('rec-1')], network: 'demo' });
    await write({ records: [record('after')] });
    expect((await withRecord('rec-1')).toSorted()).toEqual([single, demo].toSorted());
    expect(await withRecord('rec-1', 'demo')).toEqual([demo]);
    for (const id of ['rec-2', 'rec-3', 'rec-4']) expect(await withRecord(id, 'acme')).toEqual([batch]);
    expect(await withRecord('rec-3', 'quiet')).toEqual([]);
    expect(await withRecord('nosuch')).toEqual([]);
  });

  it('finds the event of a request of several transactions, and of one whose other records were there', async () => {
    await test.sql.query({ text: `UPDATE ingest.networks SET channels = '{main,other}' WHERE network_id = 'acme'` });
    const [main, other] = ['main', 'other'].map((channel) => ({ channel, records: [record(`two-${channel}`)] }));
    const first = test.unitOf({ ...main!, units: 2 });
    const second = test.unitOf({ ...other!, units: 2, eventId: eventIdOf(first) });
    await ledger.append(first);
    await ledger.append(second);
    for (const id of ['two-main', 'two-other']) expect(await withRecord(id)).toEqual([eventIdOf(first)]);
    const mixed = await write({ records: [record('two-main'), record('mixed')] });
    expect(await withRecord('mixed')).toEqual([mixed]);
    expect(await withRecord('two-main')).toContain(eventIdOf(first));
  });

  it('finds events that hold the ids of their records, on Fabric', async () => {
    const unit = test.unitOf({ records: [record('on-fabric'), record('on-fabric-2')] });
    const written = {
      outcome: 'written',
      records: ['on-fabric', 'on-fabric-2'].map((id) => ({ id, transactionId: 't1' })),
    } as unknown as UnitResult;
    await writeFabricEvent(test.sql, unit, written, test.clock.nowMs);
    const search = { networkId: undefined, placesOf: undefined };
    expect(await recordEvents(test.sql, 'on-fabric-2', search)).toEqual([eventIdOf(unit)]);
    expect(await recordEvents(test.sql, 'rec-1', search)).toEqual([]);
  });

  it('is looked up in indexes alone', async () => {
    const search = { networkId: undefined, placesOf: undefined };
    const [statement] = await askedBy((sql) => recordEvents(sql as never, 'rec-1', search));
    await test.sql.transaction(async (sql) => {
      await sql.query({ text: 'SET LOCAL enable_seqscan = off' });
      expect(await scansOf(sql, statement!)).toEqual({ whole: [], indexes: ['events_by_mark'] });
    });
  });
});
