import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import type { Refusal } from '../domain/refusals.ts';
import { openTestEvents, START_MS, type TestEvents } from '../testing/test-events.ts';
import { deliveryCounts } from './deliveries-store.ts';
import { ingestRemovals } from './event-retention.ts';
import { refusedEverywhere } from './refused-everywhere.ts';
import { refusalWriter } from './refused-store.ts';
import { activityCounts, readActivity } from './source-activity.ts';

const HOUR_MS = 3_600_000;
const box = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).sealing('kept deliveries');
const rethrow = (error: unknown) => expect(error).toBeUndefined();
let test: TestEvents;
let sql: TestEvents['sql'];
beforeAll(async () => {
  test = await openTestEvents();
  ({ sql } = test);
  for (const [sourceId, networkId] of [
    ['src_a', 'acme'],
    ['src_b', 'acme'],
    ['src_c', 'demo'],
  ])
    await sql.query({
      text: `INSERT INTO ingest.sources (source_id, network_id, name, scheme, settings, secrets, enabled, created_at, changed_at)
             VALUES ($1, $2, 'Name of ' || $1, 'github', '{}', '[]', true, '2026-01-01', '2026-01-01')`,
      values: [sourceId, networkId],
    });
  const writer = refusalWriter({ sql, box, newId: test.newId, onDropped: () => undefined, onFailure: rethrow });
  const minutes = deliveryCounts(sql, rethrow);
  const refuse = (sourceId: string, more: Partial<Refusal> = {}) => {
    test.clock.nowMs += 1000;
    const refusal: Refusal = {
      sourceId,
      code: 'INVALID_JSON',
      reason: 'not-json',
      isAuthentic: true,
      detail: 'd',
      requestId: `r${test.clock.nowMs - START_MS}`,
      atMs: test.clock.nowMs,
      ...more,
    };
    writer.add(refusal);
    minutes.add({ ...refusal, outcome: 'refused' });
  };
  refuse('src_a');
  refuse('src_b', { deliveryId: 'd1' });
  refuse('src_c', { reason: 'clock-skew', code: 'UNAUTHENTICATED', isAuthentic: false, skewSeconds: -412 });
  refuse('src_a');
  await writer.close();
  await minutes.close();
}, 60_000);
afterAll(() => test.close());

const at = (ms: number) => new Date(START_MS + ms);

describe('refused deliveries of all sources', () => {
  const sorting = { field: 'at', descending: true } as const;
  const list = async (filter: object) => {
    const { list: table } = refusedEverywhere({ look: sql, now: () => test.clock.nowMs });
    const counted = await table.count(filter);
    const rows = await table.rows({ ...filter, sorting, limit: 10, after: undefined, counted });
    expect(rows).toHaveLength(counted);
    return rows.map(({ row }) => `${row.networkId} ${row.sourceName} ${row.requestId}`);
  };

  it('are listed newest first with network and name of their source, by each filter', async () => {
    const all = [
      'acme Name of src_a r4000',
      'demo Name of src_c r3000',
      'acme Name of src_b r2000',
      'acme Name of src_a r1000',
    ];
    expect(await list({})).toEqual(all);
    expect(await list({ networkId: 'acme' })).toEqual([all[0], all[2], all[3]]);
    expect(await list({ sourceId: 'src_a' })).toEqual([all[0], all[3]]);
    expect(await list({ networkId: 'demo', sourceId: 'src_a' })).toEqual([]);
    expect(await list({ reason: 'clock-skew' })).toEqual([all[1]]);
    expect(await list({ deliveryId: 'd1' })).toEqual([all[2]]);
    expect(await list({ requestId: 'r1000' })).toEqual([all[3]]);
    expect(await list({ from: at(2000), to: at(4000) })).toEqual([all[1], all[2]]);
  });

  it('are grouped by source, code and reason with first, last and an example', async () => {
    const { groups } = refusedEverywhere({ look: sql, now: () => test.clock.nowMs });
    const found = await groups({ from: at(-HOUR_MS), to: at(HOUR_MS) });
    expect(found.map((group) => [group.sourceId, group.reason, group.deliveries, group.lastSkewSeconds])).toEqual([
      ['src_a', 'not-json', 2, null],
      ['src_b', 'not-json', 1, null],
      ['src_c', 'clock-skew', 1, -412],
    ]);
    expect(found[0]).toMatchObject({ networkId: 'acme', sourceName: 'Name of src_a', lastAt: at(4000) });
    const [newest] = await refusedEverywhere({ look: sql, now: () => START_MS }).recent(at(0), 1);
    expect(found[0]!.exampleId).toBe(newest!.refusedId);
    expect(await groups({ sourceId: 'src_c', from: at(0), to: at(HOUR_MS) })).toEqual([found[2]]);
    expect(await groups({ networkId: 'demo', from: at(0), to: at(HOUR_MS) })).toEqual([found[2]]);
    expect(await groups({ from: at(-2 * HOUR_MS), to: at(-HOUR_MS) })).toEqual([]);
  });

  it('are the newest from a moment on', async () => {
    const { recent } = refusedEverywhere({ look: sql, now: () => START_MS });
    expect((await recent(at(2500), 10)).map(({ requestId }) => requestId)).toEqual(['r4000', 'r3000']);
  });
});

describe('the activity of a source', () => {
  it('is one row an hour across processes, and is removed with the events', async () => {
    const [one, two] = [1, 2].map(() => activityCounts(sql, rethrow));
    const add = (counts: typeof one, kind: 'accepted' | 'refused', ms: number) =>
      counts!.add({ sourceId: 'src_a', kind, atMs: START_MS + ms });
    add(one, 'accepted', 0);
    add(one, 'accepted', HOUR_MS - 1);
    add(two, 'refused', 5);
    add(two, 'refused', HOUR_MS);
    await one!.close();
    await two!.close();
    const [first, second] = await readActivity(sql, 'src_a', at(0));
    expect(first).toEqual({ hour: at(0), accepted: 2, replayed: 0, conflicts: 0, refused: 1 });
    expect(second).toMatchObject({ hour: at(HOUR_MS), accepted: 0, refused: 1 });
    expect(await readActivity(sql, 'src_a', at(1))).toEqual([second]);
    expect(await readActivity(sql, 'src_b', at(0))).toEqual([]);
    const kept = { eventDays: 90, claimDays: undefined };
    const removed = (ms: number) =>
      ingestRemovals(sql, kept, () => START_MS + 90 * 24 * HOUR_MS + ms)['activity']!(100);
    expect([await removed(0), await removed(1), await removed(HOUR_MS + 1)]).toEqual([0, 1, 1]);
  });
});
