import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openTestEvents, record, type TestEvents } from '../testing/test-events.ts';
import { onceEach, type Unreadable } from './event-rows.ts';
import { eventsStore } from './events-store.ts';

let test: TestEvents;
let ledger: ReturnType<TestEvents['openLedger']>;

beforeAll(async () => {
  test = await openTestEvents();
  ledger = test.openLedger();
}, 60_000);
afterAll(async () => {
  await ledger.drain();
  await test.close();
});
beforeEach(async () => {
  for (const table of ['ingest.events', 'ingest.writes']) await test.sql.query({ text: `DELETE FROM ${table}` });
});

/** What a role that may write events could put in each column. */
const FORGED: readonly (readonly [column: string, value: string])[] = [
  ['record_count', '2147483647'],
  ['record_count', '-1'],
  ['first_index', '9223372036854775807'],
  ['first_index', '-1'],
  ['indexes', '{"a":1}'],
  ['indexes', '[1.5]'],
  ['indexes', '["1"]'],
  ['indexes', '[-1]'],
  ['records', '{"x":1}'],
  ['records', '[{"id":"a","channel":"acme.main"}]'],
  ['records', '[null]'],
  ['more', '[null]'],
  ['more', '[{"channel":"acme.main","first":0,"count":2147483647,"indexes":null}]'],
  ['more', '[{"channel":"acme.main","first":0,"count":1,"indexes":{"a":1}}]'],
  ['types', '[1]'],
  ['types', '7'],
  ['kind', 'wrote'],
  ['status', 'done'],
  ['at', 'infinity'],
];

async function insert(more: Readonly<Record<string, string>>): Promise<string> {
  test.clock.nowMs += 1000;
  const eventId = test.newId('evt_');
  const row = {
    event_id: eventId,
    network_id: 'acme',
    key_id: 'key_1',
    kind: 'write',
    status: 'committed',
    types: '["asset"]',
    channel: 'acme.main',
    first_index: '0',
    record_count: '1',
    request_id: 'req_1',
    stripped_fields: '0',
    at: new Date(test.clock.nowMs).toISOString(),
    ...more,
  };
  const columns = Object.keys(row);
  await test.sql.query({
    text: `INSERT INTO ingest.events (${columns.join()}) VALUES (${columns.map((_, at) => `$${at + 1}`).join()})`,
    values: Object.values(row),
  });
  return eventId;
}

describe('a row that no process of the gateway writes', () => {
  it.each(FORGED)('is refused by the database: %s %s', async (column, value) => {
    await expect(insert({ [column]: value })).rejects.toMatchObject({ code: '23514' });
  });

  it.each([
    ['record_count', `2147483647`],
    ['first_index', `9223372036854775807`],
    ['types', `'7'`],
    ['key_id', `'\\xff'::bytea`],
    ['request_id', `'\\xff'::bytea`],
  ])('is refused among the compact ones: %s %s', async (column, value) => {
    await ledger.append(test.unitOf({ records: [record(`compact ${column}`)] }));
    await ledger.append(test.unitOf({ records: [record(`compact ${column} again`)] }));
    const text = `UPDATE ingest.writes SET ${column} = ${value}`;
    // The second: the text is not UTF-8.
    const code = expect.stringMatching(/^(23514|22021)$/) as unknown as string;
    await expect(test.sql.query({ text })).rejects.toMatchObject({ code });
  });

  it('takes the largest batch, a place at the end of the log, pings and conflicts', async () => {
    await insert({ record_count: '1000', first_index: '9007199254740991' });
    await insert({
      indexes: '[3, 5]',
      record_count: '2',
      more: '[{"channel":"acme.b","first":null,"count":1,"indexes":[0]}]',
    });
    await insert({ kind: 'ping', record_count: '0', types: '[]' });
    await insert({ status: 'rejected', record_count: '0', records: '[]' });
    expect(await test.rowsIn('events')).toBe(4);
  });
});

describe('a row from before, which cannot be read', () => {
  beforeAll(async () => {
    const constraints = ['state', 'places', 'names', 'records', 'more', 'times', 'lists'].map(
      (name) => `events_${name}`,
    );
    const text = `ALTER TABLE ingest.events ${constraints.map((name) => `DROP CONSTRAINT ${name}`).join()}`;
    await test.sql.query({ text });
  });

  it.each(FORGED)('is named once and hides no other from list, tail and reader: %s %s', async (column, value) => {
    const named: Unreadable[] = [];
    const events = eventsStore(
      test.sql,
      onceEach((unreadable) => named.push(unreadable)),
    );
    const from = new Date(test.clock.nowMs);
    const [before, forged, after] = [await insert({}), await insert({ [column]: value }), await insert({})];
    const listed = await events.list({}, { limit: 50 });
    expect(listed.map(({ eventId }) => eventId)).toEqual([after, forged, before]);
    for (const { at } of listed) expect(at.toISOString()).toMatch(/^20/);
    expect((await events.find(forged))!.records.length).toBeLessThanOrEqual(1);
    const { unknown } = await events.recent(from, 50, () => false);
    expect(unknown.map(({ eventId }) => eventId)).toContain(before);
    const places = ['record_count', 'first_index', 'indexes'].includes(column);
    expect(named).toEqual([{ eventId: forged, columns: [places ? 'places' : column] }]);
  });
});
