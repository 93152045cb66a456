import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database, type Statement } from '@sealgate/storage';
import { costLine, costOf, preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { deliveriesStore } from './data/deliveries-store.ts';
import { eventsStore } from './data/events-store.ts';
import type { EventFilter, EventStore } from './domain/read-events.ts';
import { migrations } from './ingest-migrations.ts';
import { fillGateway, LARGE, SOURCE } from './testing/million-rows.ts';

const ROWS = Number(process.env['SEALGATE_ROWS'] ?? 1_000_000);
/** For a page and its total, however many events there are. */
const MOST_ROWS = 30_000;

let postgres: ThrowawayPostgres;
let sql: Database;
beforeAll(async () => {
  postgres = await preparedPostgres('ingest', (url) => migrate({ url, sets: migrations }));
  const options = { applicationName: 'test', maxConnections: 4, connectTimeoutMs: 2000, deadlineMs: 60_000 };
  sql = openDatabase({ ...options, url: postgres.url });
  await fillGateway(sql, ROWS);
}, 200_000);
afterAll(async () => {
  await sql.close();
  await postgres.stop();
});

/** Runs what a route does, and explains each of its statements. */
async function explained(
  name: string,
  work: (events: EventStore, noting: Database) => Promise<unknown>,
): Promise<void> {
  const asked: Statement[] = [];
  const noting = { query: (statement: Statement) => (asked.push(statement), sql.query(statement)) } as Database;
  await work(eventsStore(noting), noting);
  for (const statement of asked.filter(({ text }) => !text.includes('ledger.'))) {
    const cost = await costOf(sql, statement);
    process.stdout.write(costLine(name, cost));
    expect({ name, isBound: cost.rows <= MOST_ROWS || { ...cost, text: statement.text } }).toEqual({
      name,
      isBound: true,
    });
  }
}

describe('events at a million rows', () => {
  it.each<[string, EventFilter]>([
    ['all', {}],
    ['of a network', { networkId: LARGE }],
    ['of a small network', { networkId: 'small-7' }],
    ['of no type', { networkId: LARGE, type: 'nosuch' }],
    ['of no type in any network', { type: 'nosuch' }],
    ['of a rare type', { networkId: LARGE, type: 'demo.rare' }],
    ['of a common type', { networkId: LARGE, type: 'demo.type3' }],
    ['of a common type in a small network', { networkId: 'small-7', type: 'demo.type3' }],
    ['of a channel', { channel: `${LARGE}.returns` }],
    ['of no channel', { channel: `${LARGE}.nosuch` }],
    ['of a type that a channel never had', { channel: `${LARGE}.returns`, type: 'demo.type3' }],
    ['of a key', { networkId: LARGE, keyId: 'key_cfcd208495d565ef66e7dff9f98764da' }],
    ['of no key', { networkId: LARGE, keyId: 'key_none' }],
    ['of a source', { networkId: LARGE, keyId: SOURCE }],
    ['rejected', { networkId: LARGE, status: 'rejected' }],
    ['unknown', { networkId: LARGE, status: 'unknown' }],
    ['unknown in any network', { status: 'unknown' }],
    ['pings', { kind: 'ping' }],
    ['before all', { networkId: LARGE, to: new Date('2020-01-01') }],
    ['after all', { networkId: LARGE, from: new Date('2040-01-01') }],
    ['in a minute', { networkId: LARGE, from: new Date('2030-01-01T06:10:00Z'), to: new Date('2030-01-01T06:11:00Z') }],
  ])('%s', async (name, filter) => {
    for (const oldestFirst of [false, true]) {
      await explained(`events ${name}${oldestFirst ? ', oldest first' : ''}`, async (events) => {
        const counted = await events.count(filter);
        const found = await events.list(filter, { limit: 51, oldestFirst, counted });
        const after = found[25]?.eventId;
        if (after !== undefined) await events.list(filter, { limit: 51, oldestFirst, counted, after });
      });
    }
  });

  it('of a common type in any network: the one list that reads all that the marks find', async () => {
    const events = eventsStore(sql);
    const filter = { type: 'demo.type3' };
    const counted = await events.count(filter);
    const page = await events.list(filter, { limit: 3, counted });
    const digits = page.map(({ eventId }) => eventId).toSorted();
    expect([counted, page.length, page.every(({ types }) => types.includes('demo.type3'))]).toEqual([10_001, 3, true]);
    expect(page.map(({ eventId }) => eventId)).toEqual(digits.toReversed());
  });

  it('of a request id that its sender repeats', async () => {
    await explained('events of a request', async (events) => {
      const eventIds = await events.ofRequest('batch-50', new Date('2030-01-01'));
      expect(eventIds.length).toBe(500);
      const counted = await events.count({ eventIds });
      await events.list({ eventIds }, { limit: 51, counted });
    });
  });

  it('of the deliveries of a source', async () => {
    await explained('deliveries of a source', async (events, noting) => {
      const deliveries = deliveriesStore(noting, events);
      await deliveries.count(SOURCE);
      await deliveries.list(SOURCE, { limit: 51 });
      for (const outcome of ['written', 'conflict', 'refused'] as const) {
        await deliveries.count(SOURCE, { outcome, from: new Date('2030-01-02') });
        await deliveries.list(SOURCE, { outcome, from: new Date('2030-01-02'), limit: 51 });
      }
    });
  });
});
