import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database, type Sql } from '@sealgate/storage';
import { ServerSecrets } from '@sealgate/auth';
import { auditEventHash } from '@sealgate/envelope';
import { testClock, testIds, throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { auditMigrations, auditTrail } from './index.ts';

let server: ThrowawayPostgres;
let sql: Database;
const clock = testClock('2026-01-01T00:00:00.000Z');
const newId = testIds();
const secretsOf = (...ids: string[]) => ServerSecrets.parse(ids.map((id) => `${id}:${id.padEnd(32, 'x')}`).join());
const trailOf = (secrets = secretsOf('s1'), surface = 'front-desk') =>
  auditTrail({ surface, schema: 'desk', secrets, now: clock.now, newId });
const trail = trailOf();
const entry = { actor: 'admin', action: 'key.revoke', resource: 'key', resourceId: 'key_1' };

beforeAll(async () => {
  server = await throwawayPostgres();
  await migrate({ url: server.url, sets: [auditMigrations('desk')] });
  const options = { applicationName: 'audit-test', maxConnections: 4, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});

describe('an audit trail', () => {
  it('stores an event with its time', async () => {
    const detail = { 'b\u0000': [1e21, 'ß'], a: null };
    await trail.record(sql, { ...entry, requestId: 'req_1', detail });
    const [event] = await trail.list(sql, { limit: 10 });
    const at = new Date('2026-01-01T00:00:00.000Z');
    const recorded = { id: 'evt_000001', at, ...entry, requestId: 'req_1', detail };
    const link = { lane: 1, seq: 1, heads: [] };
    expect(event).toEqual({ ...recorded, link, problem: null, position: expect.any(String) });
    const [stored] = await sql.query<{ detail: string }>({ text: 'SELECT detail FROM desk.audit_events' });
    expect(stored?.detail).toBe('{"a":null,"b\\u0000":[1e+21,"ß"]}'); // RFC 8785.
  });

  it('commits and rolls back the event with the change', async () => {
    const call = sql.transaction(async (transaction) => {
      await trail.record(transaction, { ...entry, resourceId: 'never' });
      throw new Error('no change');
    });
    await expect(call).rejects.toThrow('no change');
    const events = await trail.list(sql, { limit: 100 });
    expect(events.map(({ resourceId }) => resourceId)).not.toContain('never');
  });

  it('lists newest first, page by page, also within a millisecond', async () => {
    clock.advance(60_000);
    for (let count = 1; count <= 7; count += 1) {
      await trail.record(sql, { ...entry, resourceId: String(count) });
      if (count % 3 === 0) clock.advance(1);
    }
    const seen: string[] = [];
    let page = await trail.list(sql, { limit: 2 });
    while (page.length > 0) {
      seen.push(...page.map(({ resourceId }) => resourceId));
      const { position, id } = page.at(-1)!;
      page = await trail.list(sql, { limit: 2, after: { position, id } });
    }
    expect(seen).toEqual(['7', '6', '5', '4', '3', '2', '1', 'key_1']);
  });

  it('lists oldest first for an export', async () => {
    const seen: string[] = [];
    let page = await trail.list(sql, { limit: 3, oldestFirst: true });
    while (page.length > 0) {
      seen.push(...page.map(({ resourceId }) => resourceId));
      const { position, id } = page.at(-1)!;
      page = await trail.list(sql, { limit: 3, oldestFirst: true, after: { position, id } });
    }
    expect(seen).toEqual(['key_1', '1', '2', '3', '4', '5', '6', '7']);
  });

  it('filters by actor, action, resource, request and time, on every page', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    const events = [
      { ...entry, actor: 'ada', requestId: 'r1' },
      { ...entry, action: 'key.mint' },
      { ...entry, actor: 'ada', resource: 'case', resourceId: 'case_1' },
      { ...entry, actor: "o'hara -- $1", resourceId: 'key_2' },
    ];
    for (const one of events) {
      await trail.record(sql, one);
      clock.advance(1_000);
    }
    const at = (seconds: number) => new Date(start.getTime() + seconds * 1_000);
    const found = async (page: object) =>
      (await trail.list(sql, { limit: 10, from: start, ...page })).map((event) =>
        events.findIndex(
          ({ actor, action, resourceId }) =>
            [actor, action, resourceId].join() === [event.actor, event.action, event.resourceId].join(),
        ),
      );
    expect(await found({})).toEqual([3, 2, 1, 0]);
    expect(await found({ actor: 'ada' })).toEqual([2, 0]);
    expect(await found({ actor: 'ada', limit: 1 })).toEqual([2]);
    expect(await found({ actor: 'ada', after: { position: at(2).toISOString(), id: 'evt_' } })).toEqual([0]);
    expect(await found({ actor: 'ad' })).toEqual([]);
    expect(await found({ action: 'key.mint' })).toEqual([1]);
    expect(await found({ resource: 'key', resourceId: 'key_2', actor: "o'hara -- $1" })).toEqual([3]);
    expect(await found({ requestId: 'r1' })).toEqual([0]);
    expect(await found({ from: at(1), to: at(3) })).toEqual([2, 1]);
  });

  it('stores absent fields as null', async () => {
    clock.advance(60_000);
    await trail.record(sql, entry);
    expect(await trail.list(sql, { limit: 1 })).toMatchObject([{ requestId: null, detail: null }]);
  });

  it.each([
    `UPDATE desk.audit_events SET actor = 'nobody'`,
    'UPDATE desk.audit_events SET at = at WHERE false',
    'DELETE FROM desk.audit_events',
    'TRUNCATE desk.audit_events',
    `INSERT INTO desk.audit_events SELECT * FROM desk.audit_events ON CONFLICT (id) DO UPDATE SET actor = 'nobody'`,
  ])('refuses %s, even to a superuser', async (text) => {
    const before = await trail.list(sql, { limit: 100 });
    await expect(sql.query({ text })).rejects.toMatchObject({ code: '42501' });
    await expect(asReplica(text)).rejects.toMatchObject({ code: '42501' });
    expect(await trail.list(sql, { limit: 100 })).toEqual(before);
  });

  it('accepts only plain schema names', () => {
    expect(() => auditTrail({ surface: 'x', schema: 'a; b', secrets: secretsOf('s1'), now: clock.now, newId })).toThrow(
      'plain',
    );
  });
});

const insert = (columns: Readonly<Record<string, unknown>>, into: Sql = sql): Promise<unknown> => {
  const row = { id: newId('evt_'), at: new Date(clock.now()), ...entry, ...columns };
  const { resourceId, ...rest } = row;
  const named = { ...rest, resource_id: resourceId };
  const places = Object.keys(named).map((_, index) => `$${index + 1}`);
  const text = `INSERT INTO desk.audit_events (${Object.keys(named).join()}) VALUES (${places.join()})`;
  return into.query({ text, values: Object.values(named) });
};

describe('a row inserted by the role of the surface', () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['at the end of time', { at: 'infinity' }],
    ['before all time', { at: '-infinity' }],
    ['in the year 10000', { at: '10000-01-01T00:00:00Z' }],
    ['before Christ', { at: '0044-03-15 BC' }],
    ['with a detail that is no JSON', { detail: '{' }],
    ['with a detail that fills the memory of a reader', { detail: JSON.stringify('x'.repeat(65_536)) }],
    ['with an actor that does', { actor: 'x'.repeat(5000) }],
    ['with an id that no cursor can hold', { id: 'x'.repeat(65) }],
    ['with half a place in a chain', { lane: 1, seq: 1 }],
  ])('is refused %s', async (_what, columns) => {
    await expect(insert(columns)).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|22P02)$/) });
  });

  it('is named, and the rows around it are listed', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await trail.record(sql, { ...entry, resourceId: 'before' });
    clock.advance(1_000);
    await insert({ resourceId: 'forged' });
    clock.advance(1_000);
    await trail.record(sql, { ...entry, resourceId: 'after' });
    const [, written] = await sql.query<Record<string, unknown>>({
      text: 'SELECT * FROM desk.audit_events WHERE resource_id = ANY ($1) ORDER BY at DESC',
      values: [['before', 'after']],
    });
    // A copy under another id, and one with a number and a MAC of its own.
    await insert({
      ...written,
      id: newId('evt_'),
      resourceId: 'before',
      resource_id: undefined,
      at: new Date(clock.now()),
    });
    const found = await trail.list(sql, { limit: 10, from: start });
    expect(found.map(({ resourceId, problem }) => [resourceId, problem])).toEqual([
      ['before', 'wrong_mac'],
      ['after', null],
      ['forged', 'no_mac'],
      ['before', null],
    ]);
  });

  it('is named where it is older than the constraints', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await trail.record(sql, entry);
    await sql.query({
      text: 'ALTER TABLE desk.audit_events DROP CONSTRAINT audit_events_time, DROP CONSTRAINT audit_events_detail',
    });
    const again = `ALTER TABLE desk.audit_events
      ADD CONSTRAINT audit_events_time CHECK (at >= 'epoch' AND at < '10000-01-01') NOT VALID,
      ADD CONSTRAINT audit_events_detail CHECK (detail IS NULL OR detail::json IS NOT NULL) NOT VALID`;
    try {
      const bad = { resourceId: 'bad' };
      for (const at of ['infinity', 'infinity', '294276-01-01', '-infinity', '0044-03-15 BC'])
        await insert({ ...bad, at });
      for (const detail of ['{', '1e999', '['.repeat(20_000)]) await insert({ ...bad, detail });
    } finally {
      await sql.query({ text: again });
    }
    const seen: string[] = [];
    let page = await trail.list(sql, { limit: 2, from: start });
    while (page.length > 0) {
      seen.push(...page.map(({ at, problem }) => `${at.toISOString().slice(0, 4)} ${problem}`));
      const { position, id } = page.at(-1)!;
      page = await trail.list(sql, { limit: 2, from: start, after: { position, id } });
    }
    expect(seen).toEqual([
      ...['9999 unreadable', '9999 unreadable', '9999 unreadable'],
      ...['2026 unreadable', '2026 unreadable', '2026 unreadable', '2026 null'],
    ]);
    const [first] = await trail.list(sql, { limit: 1, oldestFirst: true });
    expect(first).toMatchObject({ at: new Date(0), problem: 'unreadable', resourceId: 'bad' });
  });
});

describe('the chain', () => {
  const since = async (start: Date, of = trail) =>
    await of.list(sql, { limit: 100, from: start, to: new Date(clock.now() + 60_000), oldestFirst: true });

  it('links each event to the one before, and a rolled back one leaves no gap', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await trail.record(sql, entry);
    await sql
      .transaction(async (transaction) => {
        await trail.record(transaction, entry);
        throw new Error('no change');
      })
      .catch(() => undefined);
    // Two events of one transaction that does not wait for the first.
    await sql.transaction((transaction) =>
      Promise.all([trail.record(transaction, entry), trail.record(transaction, entry)]),
    );
    const events = await since(start);
    expect(events).toHaveLength(3);
    const [first, second, third] = events.map(({ link }) => link!);
    expect([second!.seq - first!.seq, third!.seq - first!.seq]).toEqual([1, 2]);
    const hash = auditEventHash('front-desk', events[0]!, first!).slice(0, 16);
    expect(second!.heads).toContainEqual({ lane: 1, seq: first!.seq, at: events[0]!.at.toISOString(), hash });
  });

  it('gives transactions that run at once a lane each, so that none waits, and the next event names their ends', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await sql.transaction(async (one) => {
      await trail.record(one, { ...entry, resourceId: 'one' });
      await sql.transaction(async (two) => trail.record(two, { ...entry, resourceId: 'two' }), { deadlineMs: 2_000 });
    });
    clock.advance(1_000);
    await trail.record(sql, { ...entry, resourceId: 'three' });
    const events = await since(start);
    const links = Object.fromEntries(events.map(({ resourceId, link }) => [resourceId, link!]));
    expect([links['one']!.lane, links['two']!.lane, links['three']!.lane]).toEqual([1, 2, 1]);
    const two = events.find(({ resourceId }) => resourceId === 'two')!;
    const hash = auditEventHash('front-desk', two, two.link!).slice(0, 16);
    expect(links['three']!.heads).toContainEqual({ lane: 2, seq: 1, at: two.at.toISOString(), hash });
    expect(links['one']!.heads.map(({ lane }) => lane)).toEqual([1]);
    expect(links['two']!.heads.map(({ lane, seq }) => [lane, seq])).toEqual([[1, links['one']!.seq - 1]]);
  });

  it('does not go back in time within a lane by the clock of another replica', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    const ahead = () => clock.now() + 500;
    const late = auditTrail({ surface: 'front-desk', schema: 'desk', secrets: secretsOf('s1'), newId, now: ahead });
    await late.record(sql, entry);
    await trail.record(sql, entry);
    expect((await since(start)).map(({ at }) => at.getTime() - start.getTime())).toEqual([500, 500]);
  });

  it.each([
    ['with another time', `seq = seq + 1, at = at + interval '55 seconds'`],
    ['without a MAC', `seq = seq + 1, mac = decode(repeat('00', 32), 'hex')`],
  ])('does not follow an end that the role of the surface wrote %s, nor keep to its time', async (_, change) => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await trail.record(sql, entry);
    await sql.query({ text: `UPDATE desk.audit_lanes SET ${change} WHERE lane = 1` });
    clock.advance(10);
    await trail.record(sql, entry);
    const [first, second] = await since(start);
    expect([first!.problem, second!.problem]).toEqual([null, null]);
    expect(second!.link!.seq).toBe(first!.link!.seq + 2);
    expect(second!.link!.heads.filter(({ lane }) => lane === 1)).toEqual([]);
    expect(second!.at.getTime() - start.getTime()).toBe(10);
  });

  it('is verified by every secret, and says so where the secret is unknown or the surface another', async () => {
    clock.advance(60_000);
    const start = new Date(clock.now());
    await trail.record(sql, entry);
    await trailOf(secretsOf('s2', 's1')).record(sql, entry);
    const problems = async (of: typeof trail) => (await since(start, of)).map(({ problem }) => problem);
    expect(await problems(trailOf(secretsOf('s2', 's1')))).toEqual([null, null]);
    expect(await problems(trailOf(secretsOf('s2')))).toEqual(['unknown_secret', null]);
    expect(await problems(trailOf(secretsOf('s1', 's2'), 'back-desk'))).toEqual(['wrong_mac', 'wrong_mac']);
  });

  it.each([
    'DELETE FROM desk.audit_lanes',
    'TRUNCATE desk.audit_lanes',
    'UPDATE desk.audit_lanes SET seq = 0',
    'UPDATE desk.audit_lanes SET seq = seq + 2',
  ])('cannot be set back by %s, even by a superuser', async (text) => {
    await expect(sql.query({ text })).rejects.toMatchObject({ code: '42501' });
    await expect(asReplica(text)).rejects.toMatchObject({ code: '42501' });
  });
});

/** Replicas do not fire ordinary triggers. */
const asReplica = (text: string): Promise<unknown> =>
  sql.transaction(async (transaction) => {
    await transaction.query({ text: 'SET LOCAL session_replication_role = replica' });
    return transaction.query({ text });
  });
