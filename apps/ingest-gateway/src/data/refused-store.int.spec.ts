import type { ListPosition } from '@sealgate/paging';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomPool, ServerSecrets, timeOrderedIds } from '@sealgate/auth';
import type { Refusal } from '../domain/refusals.ts';
import { openTestEvents, START_MS, type TestEvents } from '../testing/test-events.ts';
import { ingestRemovals } from './event-retention.ts';
import { KEPT, refusalWriter, refusedStore } from './refused-store.ts';

const HOUR_MS = 3_600_000;
const box = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).sealing('kept deliveries');
let test: TestEvents;
let sql: TestEvents['sql'];
let nowMs: number;
let dropped: Record<string, number>;
beforeAll(async () => {
  test = await openTestEvents();
  ({ sql } = test);
}, 60_000);
afterAll(() => test.close());
beforeEach(async () => {
  [nowMs, dropped] = [START_MS, {}];
  await sql.query({ text: 'TRUNCATE ingest.refused_deliveries CASCADE' });
});

const newWriter = () =>
  refusalWriter({
    sql,
    box,
    newId: timeOrderedIds(() => nowMs, randomPool()),
    onDropped: (what, count) => (dropped[what] = (dropped[what] ?? 0) + count),
    onFailure: (error) => {
      throw error;
    },
  });
const storeAt = () => {
  const store = refusedStore({ sql, box, now: () => nowMs });
  const sorting = { field: 'at', descending: true } as const;
  /** A page of a source, newest first. */
  const list = async (sourceId: string, filter: object, { limit, before }: { limit: number; before?: string }) => {
    const after: ListPosition | undefined = before === undefined ? undefined : [before, before];
    const wanted = { sourceId, ...filter };
    const counted = await store.list.count(wanted);
    return (await store.list.rows({ ...wanted, sorting, limit, after, counted })).map(({ row }) => row);
  };
  return { ...store, list };
};
const refusal = (more: Partial<Refusal> = {}): Refusal => ({
  sourceId: 'src_a',
  code: 'INVALID_JSON',
  reason: 'not-json',
  isAuthentic: true,
  detail: 'd',
  requestId: 'r',
  atMs: nowMs,
  ...more,
});
const delivery = (body: string | Buffer) => ({ headers: [['x-sig', 'geheim']] as const, body: Buffer.from(body) });

/** One flush for each, so that the limits of a single flush do not apply. */
async function addEach(refusals: readonly [Partial<Refusal>, Buffer?][], hours = 1): Promise<void> {
  const writer = newWriter();
  for (const [more, body] of refusals) {
    nowMs += 1;
    writer.add(refusal({ atMs: nowMs, ...more }), body && { hours, delivery: delivery(body) });
    await writer.flush();
  }
}

describe('refused deliveries', () => {
  it('are listed newest first, by code, reason and time, with what is known of them', async () => {
    await addEach([
      [{ reason: 'clock-skew', code: 'UNAUTHENTICATED', isAuthentic: false, skewSeconds: -400 }],
      [{ pointer: '/a', deliveryId: 'd1', mediaType: 'text/plain', bodyBytes: 7, header: 'x' }],
      [{ sourceId: 'src_b' }],
    ]);
    const store = storeAt();
    const all = await store.list('src_a', {}, { limit: 10 });
    expect(all).toMatchObject([
      { reason: 'not-json', pointer: '/a', deliveryId: 'd1', mediaType: 'text/plain', bodyBytes: 7, header: 'x' },
      { reason: 'clock-skew', isAuthentic: false, skewSeconds: -400, keptUntil: undefined },
    ]);
    expect(await store.list('src_a', {}, { limit: 10, before: all[0]!.refusedId })).toEqual(all.slice(1));
    expect(await store.list('src_a', { reason: 'clock-skew' }, { limit: 10 })).toEqual(all.slice(1));
    expect(await store.list('src_a', { code: 'INVALID_JSON' }, { limit: 10 })).toEqual(all.slice(0, 1));
    expect(await store.list('src_a', { from: all[0]!.at }, { limit: 10 })).toEqual(all.slice(0, 1));
    expect(await store.list('src_a', { to: all[0]!.at }, { limit: 10 })).toEqual(all.slice(1));
    expect(await store.find('src_b', all[0]!.refusedId)).toBeUndefined();
  });

  it('that are not authentic are the newest hundred of their source, and leave the others', async () => {
    const others = Array.from({ length: 105 }, (_, n): [Partial<Refusal>] => [
      { isAuthentic: false, reason: 'no-matching-secret', requestId: `r${n}` },
    ]);
    await addEach([[{}], ...others]);
    const listed = await storeAt().list('src_a', {}, { limit: 300 });
    expect(listed).toHaveLength(101);
    expect(listed.slice(0, 100).map(({ requestId }) => requestId)).toEqual(
      Array.from({ length: 100 }, (_, n) => `r${104 - n}`),
    );
    expect(listed.at(-1)!.isAuthentic).toBe(true);
  });

  it('of a flood cost a bounded number of rows and bytes for each write; the rest is counted as dropped', async () => {
    const writer = newWriter();
    const keep = { hours: 1, delivery: delivery(Buffer.alloc(1_048_576)) };
    for (let count = 0; count < 1000; count += 1) writer.add(refusal({ isAuthentic: false }), keep);
    for (let count = 0; count < 300; count += 1) writer.add(refusal());
    await writer.close();
    expect(dropped).toEqual({ row: 980 + 100, body: 17 });
    const [row] = await sql.query<{ rows: string; kept: string }>({
      text: 'SELECT (SELECT count(*) FROM ingest.refused_deliveries) AS rows, (SELECT count(*) FROM ingest.kept_deliveries) AS kept',
    });
    expect(row).toEqual({ rows: '220', kept: '3' });
  });

  it('are removed with the events', async () => {
    await addEach([[{}, Buffer.from('x')]]);
    const kept = { eventDays: 90, claimDays: undefined };
    const removed = (days: number) => ingestRemovals(sql, kept, () => START_MS + days * 24 * HOUR_MS)['refused']!(100);
    expect([await removed(90), await removed(91)]).toEqual([0, 1]);
    expect(await sql.query({ text: 'SELECT FROM ingest.kept_deliveries' })).toEqual([]);
  });
});

describe('kept deliveries', () => {
  it('are encrypted, bound to their row, and come back byte for byte until their time is over', async () => {
    const body = Buffer.from([0, 255, 1, 123]);
    await addEach(
      [
        [{}, body],
        [{}, Buffer.from('other')],
      ],
      2,
    );
    const store = storeAt();
    const [other, first] = await store.list('src_a', {}, { limit: 2 });
    expect(first!.keptUntil).toEqual(new Date(first!.at.getTime() + 2 * HOUR_MS));
    expect(await store.open(first!.refusedId)).toEqual({ headers: [['x-sig', 'geheim']], body });
    const rows = await sql.query<{ text: string }>({
      text: `SELECT encode(sealed, 'escape') AS text FROM ingest.kept_deliveries`,
    });
    expect(rows.map(({ text }) => text).join()).not.toMatch(/geheim|x-sig|other/);
    await sql.query({
      text: `UPDATE ingest.kept_deliveries SET sealed = (SELECT sealed FROM ingest.kept_deliveries WHERE refused_id = $1)`,
      values: [other!.refusedId],
    });
    await expect(store.open(first!.refusedId)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    nowMs += 2 * HOUR_MS;
    expect(await store.open(other!.refusedId)).toBeUndefined();
    await store.expire();
    expect(await sql.query({ text: 'SELECT FROM ingest.kept_deliveries' })).toEqual([]);
  });

  it('take at most a hundred mebibytes of a source, of which strangers have what the authentic leave; the oldest leave first', async () => {
    const body = Buffer.alloc(10 * 1_048_576);
    const authentic = Array.from({ length: 9 }, (): [Partial<Refusal>, Buffer] => [{}, body]);
    await addEach([...authentic, [{ sourceId: 'src_b' }, body]]);
    expect(await keptOf('src_a')).toEqual([9, 0]);
    const small = Buffer.alloc(3.5 * 1_048_576);
    await addEach(Array.from({ length: 8 }, (): [Partial<Refusal>, Buffer] => [{ isAuthentic: false }, small]));
    expect(await keptOf('src_a')).toEqual([9, 2]);
    await addEach(authentic);
    expect(await keptOf('src_a')).toEqual([9, 2]);
    expect(await keptOf('src_b')).toEqual([1, 0]);
    const [sum] = await sql.query<{ bytes: string }>({
      text: `SELECT sum(bytes) AS bytes FROM ingest.kept_deliveries WHERE source_id = 'src_a'`,
    });
    expect(Number(sum!.bytes)).toBeLessThanOrEqual(KEPT.bytes);
  }, 60_000);

  it('leave when they were processed, and with their source', async () => {
    await addEach([
      [{}, Buffer.from('1')],
      [{}, Buffer.from('2')],
      [{ sourceId: 'src_b' }, Buffer.from('3')],
    ]);
    const store = storeAt();
    const [second, first] = await store.list('src_a', {}, { limit: 2 });
    await store.processed(first!.refusedId, { outcome: 'written', isDone: true, eventId: 'evt_1' });
    await store.processed(second!.refusedId, { outcome: 'INVALID_JSON', isDone: false, eventId: undefined });
    expect(await store.find('src_a', first!.refusedId)).toMatchObject({
      outcome: 'written',
      eventId: 'evt_1',
      keptUntil: undefined,
    });
    await store.processed(first!.refusedId, { outcome: 'replayed', isDone: true, eventId: 'evt_2' });
    expect(await store.find('src_a', first!.refusedId)).toMatchObject({ outcome: 'written', eventId: 'evt_1' });
    expect(await store.find('src_a', second!.refusedId)).toMatchObject({
      outcome: 'INVALID_JSON',
      keptUntil: expect.any(Date),
    });
    await store.forget('src_a', sql);
    expect([await keptOf('src_a'), await keptOf('src_b')]).toEqual([
      [0, 0],
      [1, 0],
    ]);
  });
});

async function keptOf(sourceId: string): Promise<[authentic: number, others: number]> {
  const rows = await sql.query<{ is_authentic: boolean }>({
    text: 'SELECT is_authentic FROM ingest.kept_deliveries WHERE source_id = $1',
    values: [sourceId],
  });
  const authentic = rows.filter((row) => row.is_authentic).length;
  return [authentic, rows.length - authentic];
}
