import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EmbeddedLedger } from '@sealgate/ledger-embedded';
import type { Statement } from '@sealgate/storage';
import { scansOf } from '@sealgate/testing';
import { eventIdOf, KEY, openTestEvents, record, START_MS, type TestEvents } from '../testing/test-events.ts';
import { pingEvents } from './write-events.ts';
import { requestEvents } from './find-events.ts';

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

const DAY_AGO = new Date(START_MS - 86_400_000);
const found = async (requestId: string, from = DAY_AGO) => (await requestEvents(test.sql, requestId, from)).sort();
let written = 0;
async function write(more: { requestId: string; network?: string }): Promise<string> {
  const unit = test.unitOf({ ...more, records: [record(`request-${(written += 1)}`)] });
  await ledger.append(unit);
  return eventIdOf(unit);
}
async function refuse(requestId: string): Promise<string> {
  const unit = test.unitOf({ requestId, records: [record('request-1', 2)] });
  expect(await ledger.append(unit)).toMatchObject({ outcome: 'conflict' });
  return eventIdOf(unit);
}
async function ping(requestId: string): Promise<string> {
  test.clock.nowMs += 1000;
  const eventId = test.newId('evt_');
  const pings = pingEvents({ sql: test.sql, onDropped: () => undefined });
  pings.add({ eventId, networkId: 'acme', keyId: KEY, requestId, atMs: test.clock.nowMs });
  await pings.flush();
  return eventId;
}

it.each<[string, () => string]>([
  ['a sender chose', () => 'order 7 é'],
  ['a sender chose, similar to ours', () => `req_${'0'.repeat(31)}A`],
  ['we generated', () => test.newId('req_')],
])('a request id that %s finds every event of its request, in any network', async (_what, make) => {
  const requestId = make();
  const events = [
    await write({ requestId }),
    await write({ requestId, network: 'demo' }),
    await refuse(requestId),
    await ping(requestId),
  ];
  await write({ requestId: 'another' });
  await write({ requestId: test.newId('req_') });
  expect(await found(requestId)).toEqual(events.sort());
  expect(await found(`${requestId}x`)).toEqual([]);
  // The list shows only these, with the other filters applied too.
  const eventIds = await found(requestId);
  expect(await test.list({ eventIds })).toEqual(eventIds.toReversed());
  expect(await test.list({ eventIds, networkId: 'demo' })).toHaveLength(1);
  expect(await test.list({ eventIds, status: 'rejected' })).toHaveLength(1);
  expect(await test.list({ eventIds, kind: 'ping' })).toHaveLength(1);
  expect(await test.list({ eventIds: [] })).toEqual([]);
});

it('events before the requested time are not found', async () => {
  for (const requestId of ['long ago', test.newId('req_')]) {
    await write({ requestId });
    expect(await found(requestId)).toHaveLength(1);
    expect(await found(requestId, new Date(test.clock.nowMs + 1))).toEqual([]);
  }
});

it('an id made here finds events of the two minutes after it; an id without a valid time finds none', async () => {
  const requestId = test.newId('req_');
  test.clock.nowMs += 118_000;
  const event = await write({ requestId });
  test.clock.nowMs += 10_000;
  await write({ requestId });
  expect(await found(requestId)).toEqual([event]);
  expect(await found(`req_${'f'.repeat(32)}`)).toEqual([]);
});

it('are found by indexes, never by a sequential scan', async () => {
  for (const requestId of ['chosen', test.newId('req_')]) {
    const asked: Statement[] = [];
    const query = (statement: Statement) => {
      asked.push(statement);
      return Promise.resolve([]);
    };
    await requestEvents({ ...test.sql, query: query }, requestId, DAY_AGO);
    const [statement] = asked;
    await test.sql.transaction(async (sql) => {
      // Otherwise tables of a few rows are scanned.
      await sql.query({ text: 'SET LOCAL enable_seqscan = off' });
      const { whole, indexes } = await scansOf(sql, statement!);
      expect(whole.filter((table) => table !== 'networks')).toEqual([]);
      expect(indexes.toSorted()).toEqual(
        requestId === 'chosen' ? ['events_by_request', 'writes_by_request'] : expect.arrayContaining(['writes_pkey']),
      );
    });
  }
});

it('ids made here are in no index of requests', async () => {
  const pages = async () =>
    (
      await test.sql.query<{ size: string }>({
        text: `SELECT pg_relation_size('ingest.writes_by_request') AS size`,
      })
    )[0]!.size;
  const before = await pages();
  for (let n = 0; n < 300; n += 1) await write({ requestId: test.newId('req_') });
  expect(await pages()).toBe(before);
});

it('events are listed by channel and kind, and the newest of them once each', async () => {
  const requestId = 'by channel';
  const [main, other] = [await write({ requestId }), await write({ requestId, network: 'demo' })];
  const pinged = await ping(requestId);
  const eventIds = [main, other, pinged];
  expect(await test.list({ eventIds, channel: 'acme.main' })).toEqual([main]);
  expect(await test.list({ eventIds, channel: 'demo.main' })).toEqual([other]);
  expect(await test.list({ eventIds, channel: 'demo.side' })).toEqual([]);
  expect(await test.list({ eventIds, kind: 'ping' })).toEqual([pinged]);
  expect(await test.list({ eventIds, kind: 'write' })).toEqual([other, main]);
  const from = new Date(test.clock.nowMs - 60_000);
  const all = await test.events.recent(from, 3, () => false);
  expect(all.unknown.map(({ eventId }) => eventId)).toEqual([pinged, other, main]);
  expect(all.unknown[1]).toEqual(await test.events.find(other));
  const rest = await test.events.recent(from, 3, ({ eventId }) => eventId === other);
  expect(rest.seen).toHaveLength(3);
  expect(rest.unknown.map(({ eventId }) => eventId)).toEqual([pinged, main]);
  const both = test.unitOf({ records: [record('in both')], units: 2 });
  await ledger.append(both);
  const second = test.unitOf({ channel: 'side', records: [record('in both')], units: 2, eventId: eventIdOf(both) });
  await ledger.append(second);
  for (const channel of ['acme.main', 'acme.side'])
    expect(await test.list({ channel, kind: 'write' }, 1)).toEqual([eventIdOf(both)]);
});
