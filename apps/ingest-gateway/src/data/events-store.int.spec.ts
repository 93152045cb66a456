import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EmbeddedLedger } from '@sealgate/ledger-embedded';
import { DatabaseUnavailableError, type Database } from '@sealgate/storage';
import { eventIdOf, KEY, openTestEvents, record, START_MS, type TestEvents } from '../testing/test-events.ts';
import { pingEvents, writeLateEvent } from './write-events.ts';

let test: TestEvents;
let sql: TestEvents['sql'];
let events: TestEvents['events'];
let clock: TestEvents['clock'];
let ledger: EmbeddedLedger;
let { newId, unitOf, list, rowsIn, openLedger } = {} as TestEvents;

beforeAll(async () => {
  test = await openTestEvents();
  ({ sql, events, clock, newId, unitOf, list, rowsIn, openLedger } = test);
  ledger = openLedger();
}, 60_000);
afterAll(async () => {
  await ledger.drain();
  await test.close();
});
beforeEach(async () => {
  for (const table of ['ingest.events', 'ingest.writes']) await sql.query({ text: `DELETE FROM ${table}` });
});

describe('the event of a write', () => {
  it('is the same whether its group was written by the fast path or one by one', async () => {
    const content = (id: string) => [record(`${id}-0`), record(`${id}-1`, 2, 'other "type"\t')];
    await ledger.append(unitOf({ records: [record('opens the channel')] }));
    const [fast, own] = [
      unitOf({ records: content('fast') }),
      unitOf({ records: content('own'), requestId: 'req_mine é' }),
    ];
    for (const unit of [fast, own]) await ledger.append(unit);
    expect(await rowsIn('writes')).toBe(3);
    await ledger.append(unitOf({ records: [record('opens the channel')] }));
    const careful = unitOf({ records: content('careful') });
    await ledger.append(careful);
    // A duplicate, which made the group a careful one, costs the others no larger row.
    expect([await rowsIn('writes'), await rowsIn('events')]).toEqual([4, 1]);
    for (const [name, unit, at] of [
      ['fast', fast, 2],
      ['own', own, 3],
      ['careful', careful, 5],
    ] as const) {
      const { requestId } = unit.event;
      const transactionId = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown as string;
      expect(await events.find(eventIdOf(unit))).toEqual({
        eventId: eventIdOf(unit),
        kind: 'write',
        networkId: 'acme',
        keyId: KEY,
        status: 'committed',
        types: ['asset', 'other "type"\t'],
        records: [0, 1].map((n) => ({ id: `${name}-${n}`, channel: 'acme.main', transactionId })),
        transactionIds: [transactionId],
        requestId,
        strippedFields: 3,
        at: new Date(START_MS + at * 1000),
      });
    }
  });

  it('contains every id of a request as it was sent, including one that resembles ours', async () => {
    const digits = '0123456789abcdef0123456789abcdef';
    const requests = [
      `req_${digits}`,
      `req_${digits.toUpperCase()}`,
      `req_${digits.slice(1)}`,
      `req_${digits}0`,
      `rex_${digits}`,
    ];
    const group = [...requests, `req_${digits.slice(1)}g`, 'r', '~'.repeat(128)];
    const writer = openLedger();
    const units = group.map((requestId, n) => unitOf({ requestId, records: [record(`request-${n}`)] }));
    for (const unit of units) expect(await writer.append(unit)).toMatchObject({ outcome: 'written' });
    expect(await rowsIn('writes')).toBe(group.length);
    expect((await events.list({}, { limit: 50 })).map(({ requestId }) => requestId)).toEqual([...group].reverse());
  });

  it('is written once for a call that was repeated because its answer was lost, and once where it is late', async () => {
    let lost = 1;
    const query: Database['query'] = async (statement, options) => {
      const rows = await sql.query(statement, options);
      if (statement.text.includes('ingest.append(') && lost-- > 0)
        throw new DatabaseUnavailableError('cut', { sent: true });
      return rows as never;
    };
    const forgetful = openLedger({ sql: { ...sql, query } });
    const unit = unitOf({ records: [record('again')] });
    const result = await forgetful.append(unit);
    expect(result.outcome).toBe('written');
    await writeLateEvent(sql, unit, result, clock.nowMs);
    expect([await list(), await rowsIn('events'), await rowsIn('writes')]).toEqual([[eventIdOf(unit)], 0, 1]);
    // This one was not written: the sender's retry came first, with an event of its own.
    const late = unitOf({ records: [record('again')] });
    await writeLateEvent(sql, late, result, clock.nowMs);
    expect(await list()).toEqual([eventIdOf(late), eventIdOf(unit)]);
    const [found, first] = await Promise.all([late, unit].map((each) => events.find(eventIdOf(each))));
    expect(found).toEqual({
      ...first,
      eventId: eventIdOf(late),
      requestId: found!.requestId,
      at: new Date(clock.nowMs),
    });
    expect(first).toMatchObject({ records: [{ id: 'again' }] });
  });

  it('is written once for a call of several networks, also where its answer was lost', async () => {
    for (const answers of ['come', 'are lost']) {
      const calls: string[] = [];
      const query: Database['query'] = async (statement, options) => {
        const rows = await sql.query(statement, options);
        if (statement.text.includes('ingest.append')) calls.push(statement.text);
        if (answers === 'are lost' && calls.length === 2) throw new DatabaseUnavailableError('cut', { sent: true });
        return rows as never;
      };
      const writer = openLedger({ sql: { ...sql, query }, limits: { running: 1 } });
      const units = ['acme', 'acme', 'demo', 'quiet', 'demo', 'acme'].map((network, n) =>
        unitOf({ network, records: [record(`${answers}-${n}`)] }),
      );
      const results = await Promise.all(units.map((unit) => writer.append(unit)));
      expect(results.map(({ outcome }) => outcome)).toEqual(units.map(() => 'written'));
      expect(calls.some((text) => text.includes('ingest.append_many('))).toBe(true);
      const found = await events.list({}, { limit: units.length });
      expect(
        found.map(({ eventId, networkId, status, types, records }) => [
          eventId,
          networkId,
          status,
          types,
          records[0]!.id,
        ]),
      ).toEqual(
        units.map((unit, n) => [eventIdOf(unit), unit.network, 'committed', ['asset'], `${answers}-${n}`]).reverse(),
      );
    }
    expect(await list()).toHaveLength(12);
  });

  it('is unknown until every transaction of its request is committed', async () => {
    const first = unitOf({ records: [record('both')], units: 2 });
    const eventId = eventIdOf(first);
    await ledger.append(first);
    expect(await events.find(eventId)).toMatchObject({ status: 'unknown', records: { length: 1 } });
    await ledger.append(unitOf({ channel: 'side', records: [record('both')], units: 2, eventId }));
    expect(await events.find(eventId)).toMatchObject({
      status: 'committed',
      records: [{ channel: 'acme.main' }, { channel: 'acme.side' }],
    });
  });
});

describe('the list of events', () => {
  it('contains all kinds, newest first, with any filter, page by page', async () => {
    const written = [];
    for (const n of [0, 1, 2, 3]) {
      const network = n % 2 === 0 ? 'acme' : 'demo';
      const unit = unitOf({ network, records: [record(`list-${n}`, 1, n === 0 ? 'rare' : 'asset')] });
      await ledger.append(unit);
      written.push(eventIdOf(unit));
    }
    const refused = unitOf({ records: [record('list-0', 2)] });
    await ledger.append(refused);
    clock.nowMs += 1000;
    const ping = newId('evt_');
    const pings = pingEvents({ sql, onDropped: () => undefined });
    pings.add({ eventId: ping, networkId: 'acme', keyId: KEY, requestId: 'req', atMs: clock.nowMs });
    await pings.flush();
    const [a, b, c, d] = written as [string, string, string, string];
    const e = eventIdOf(refused);
    expect(await list()).toEqual([ping, e, d, c, b, a]);
    expect(await list({ networkId: 'acme' })).toEqual([ping, e, c, a]);
    expect(await list({ networkId: 'demo' })).toEqual([d, b]);
    expect(await list({ networkId: 'quiet' })).toEqual([]);
    expect(await list({ status: 'committed' })).toEqual([ping, d, c, b, a]);
    expect(await list({ status: 'rejected' })).toEqual([e]);
    expect(await list({ type: 'rare' })).toEqual([a]);
    const pages = [await list({}, 4), await list({}, 4, c)];
    expect(pages).toEqual([
      [ping, e, d, c],
      [b, a],
    ]);
    // They were written a second apart: from the second (inclusive) to the fourth (exclusive).
    const [from, to] = [new Date(clock.nowMs - 4000), new Date(clock.nowMs - 2000)];
    expect(await list({ from, to })).toEqual([c, b]);
    expect(await list({ from, to }, 50, c)).toEqual([b]);
    for (const eventId of ['evt_x', `evt_${'0'.repeat(32)}`]) expect(await events.find(eventId)).toBeUndefined();
  });

  it('finds a type among what is next, and where it lies behind other events', async () => {
    const write = async (network: string, type: string): Promise<string> => {
      const unit = unitOf({ network, records: [record(`${type}-${clock.nowMs}`, 1, type)] });
      await ledger.append(unit);
      return eventIdOf(unit);
    };
    const deep = [];
    for (const network of ['acme', 'demo', 'acme']) deep.unshift(await write(network, 'deep'));
    for (let n = 0; n < 5; n += 1) await write(n % 2 === 0 ? 'acme' : 'demo', 'common');
    const last = await write('quiet', 'deep');
    const common = await list({ type: 'common' });
    expect(common).toHaveLength(5);
    expect(await list({ type: 'common' }, 2)).toEqual(common.slice(0, 2));
    expect(await list({ type: 'common' }, 2, common[1])).toEqual(common.slice(2, 4));
    expect(await list({ type: 'deep' }, 1)).toEqual([last]);
    expect(await list({ type: 'deep' }, 2)).toEqual([last, deep[0]]);
    expect(await list({ type: 'deep' }, 2, deep[0])).toEqual(deep.slice(1));
  });
});
