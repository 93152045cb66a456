import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { testClock, testIds, throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { auditMigrations, auditTrail } from './index.ts';

let server: ThrowawayPostgres;
let sql: Database;
const clock = testClock('2026-01-01T00:00:00.000Z');
const trail = auditTrail({ schema: 'desk', now: clock.now, newId: testIds() });
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
    expect(await trail.list(sql, { limit: 10 })).toEqual([
      { id: 'evt_000001', at: new Date('2026-01-01T00:00:00.000Z'), ...entry, requestId: 'req_1', detail },
    ]);
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
      const { at, id } = page.at(-1)!;
      page = await trail.list(sql, { limit: 2, after: { at, id } });
    }
    expect(seen).toEqual(['7', '6', '5', '4', '3', '2', '1', 'key_1']);
  });

  it('lists oldest first for an export', async () => {
    const seen: string[] = [];
    let page = await trail.list(sql, { limit: 3, oldestFirst: true });
    while (page.length > 0) {
      seen.push(...page.map(({ resourceId }) => resourceId));
      const { at, id } = page.at(-1)!;
      page = await trail.list(sql, { limit: 3, oldestFirst: true, after: { at, id } });
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
    expect(await found({ actor: 'ada', after: { at: at(2), id: 'evt_' } })).toEqual([0]);
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
    expect(() => auditTrail({ schema: 'a; b', now: clock.now, newId: testIds() })).toThrow('plain');
  });
});

/** Replicas do not fire ordinary triggers. */
const asReplica = (text: string): Promise<unknown> =>
  sql.transaction(async (transaction) => {
    await transaction.query({ text: 'SET LOCAL session_replication_role = replica' });
    return transaction.query({ text });
  });
