import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenedEmbeddedLedger } from '@sealgate/ledger-embedded';
import { removalStatement, removeInSteps, type Database } from '@sealgate/storage';
import { scansOf, unboundedTimes } from '@sealgate/testing';
import { openTestGatewayLedger, type TestGatewayLedger } from '../testing/test-gateway-ledger.ts';
import { ingestRemovals, oldEvents, removeOldWrites } from './event-retention.ts';

const DAY_MS = 86_400_000;
let at: TestGatewayLedger;
let sql: Database;
let ledger: OpenedEmbeddedLedger;

beforeAll(async () => {
  at = await openTestGatewayLedger({ integrates: false });
  ({ sql, ledger } = at);
}, 60_000);
afterAll(() => at.close());

/** Writes from a process with empty caches. */
const write = (data: string) => at.newProcess()(at.order(data, { idempotencyKey: 'order-7', count: 2 }));
const claimsOf = async () => (await sql.query({ text: 'SELECT 1 FROM ledger.decoded_claims' })).length;
const age = (days: number) =>
  sql.query({
    text: `UPDATE ledger.claims SET made_on = CURRENT_DATE - date '2000-01-01' - $1::integer`,
    values: [days],
  });
const removeClaims = () => removeInSteps(ingestRemovals(sql, { eventDays: 90, claimDays: 400 }, Date.now)['claims']!);

describe('a claim', () => {
  it('has no table that a row at the end of time could make unreadable', async () => {
    expect(await unboundedTimes(sql, 'ingest')).toEqual([]);
    const text = `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
                  VALUES ('evt_x', 'acme', 'key_1', 'write', 'committed', '7', 'r', 0, now())`;
    await expect(sql.query({ text })).rejects.toMatchObject({ code: '23514' });
  });

  it('is removed after CLAIM_RETENTION_DAYS; the same request then writes nothing twice, another one is refused', async () => {
    const first = JSON.parse((await write('{"a":1}')).body) as { records: object[] };
    await age(400);
    expect(await removeClaims()).toBe(0);
    expect(await write('{"a":1}')).toMatchObject({ replayed: true });
    await age(401);
    expect(await removeClaims()).toBe(1);
    expect(await claimsOf()).toBe(0);
    expect(await ledger.audit('acme.main')).toEqual({ ok: true, size: 2, firstBadRecordId: null, problem: null });

    await expect(write('{"a":2}')).rejects.toMatchObject({ code: 'RECORD_CONFLICT' });
    const again = await write('{"a":1}');
    expect(again.replayed).toBe(false);
    const ids = (text: { records: object[] }) => text.records.map((record) => (record as { id: string }).id);
    expect(ids(JSON.parse(again.body))).toEqual(ids(first));
    expect(await ledger.size('acme.main')).toBe(2);
    expect(await ledger.audit('acme.main')).toMatchObject({ ok: true, size: 2 });
  });

  it('is never removed within 30 days, whatever a role asks for', async () => {
    const forget = (days: number | null) =>
      sql.query({ text: 'SELECT ledger.forget_claims($1, 1000)', values: [days] });
    await expect(forget(29)).rejects.toThrow('30 days at least');
    await expect(forget(null)).rejects.toThrow('30 days at least');
  });

  it('is found without reading all of them', async () => {
    await sql.query({ text: `DELETE FROM ledger.claims` });
    await sql.query({
      text: `INSERT INTO ledger.claims (claim_nonce, fingerprint, channel_id, first_index, record_count, note, made_on)
             SELECT sha256(n::text::bytea), '', 1, 0, 1, '', CURRENT_DATE - date '2000-01-01' - n / 10 FROM generate_series(0, 9999) n`,
    });
    const scans = async () => {
      await sql.query({ text: 'SELECT pg_stat_force_next_flush()' });
      const read = `SELECT seq_scan::int AS whole, (SELECT idx_scan::int FROM pg_stat_user_indexes WHERE indexrelname = 'claims_by_day') AS by_day
                      FROM pg_stat_user_tables WHERE relid = 'ledger.claims'::regclass`;
      return (await sql.query<{ whole: number; by_day: number }>({ text: read }))[0]!;
    };
    const before = await scans();
    expect(await removeClaims()).toBe(5990);
    const after = await scans();
    expect(after.whole).toBe(before.whole);
    expect(after.by_day).toBeGreaterThan(before.by_day);
    await sql.query({ text: `DELETE FROM ledger.claims` });
  });

  it('is not searched for among the old ones that were removed before', async () => {
    const fill = (daysAgo: number) =>
      sql.query({
        text: `INSERT INTO ledger.claims (claim_nonce, fingerprint, channel_id, first_index, record_count, note, made_on)
               SELECT sha256((n || $1::text)::bytea), repeat('f', 40), 1, 0, 1, '', CURRENT_DATE - date '2000-01-01' - $1::integer
                 FROM generate_series(1, 20000) n`,
        values: [daysAgo],
      });
    await fill(500);
    expect(await removeClaims()).toBe(20_000);
    await sql.query({ text: 'VACUUM ledger.claims' });
    await fill(1);
    const read = async () => {
      await sql.query({ text: 'SELECT pg_stat_force_next_flush()' });
      const text = `SELECT (heap_blks_read + heap_blks_hit)::int AS blocks FROM pg_statio_user_tables WHERE relid = 'ledger.claims'::regclass`;
      return (await sql.query<{ blocks: number }>({ text }))[0]!.blocks;
    };
    const before = await read();
    expect(await removeClaims()).toBe(0);
    expect((await read()) - before).toBeLessThan(10);
    await sql.query({ text: 'DELETE FROM ledger.claims' });
  });
});

describe('an event', () => {
  it('is removed after EVENT_RETENTION_DAYS, found by its id', async () => {
    await sql.query({ text: 'DELETE FROM ingest.events' });
    const nowMs = Date.UTC(2026, 5, 1);
    const at = (ms: number) => `evt_${ms.toString(16).padStart(12, '0')}7000800000000000000`;
    const ids = [90 * DAY_MS + 1, 90 * DAY_MS, 0].map((age) => at(nowMs - age));
    const old = Array.from({ length: 3000 }, (_, n) => at(nowMs - 100 * DAY_MS - n));
    await sql.query({
      text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
             SELECT id, 'acme', 'key', 'ping', 'committed', '[]', 'req', 0, now() FROM unnest($1::text[]) id`,
      values: [[...ids, ...old]],
    });
    await sql.query({ text: 'ANALYZE ingest.events' });
    const scans = await scansOf(sql, removalStatement(oldEvents(90, nowMs), 1000));
    expect(scans).toEqual({ whole: [], indexes: ['events_pkey'] });
    const { events } = ingestRemovals(sql, { eventDays: 90, claimDays: undefined }, () => nowMs);
    expect(await removeInSteps(events!)).toBe(3001);
    expect(await sql.query({ text: 'SELECT event_id AS id FROM ingest.events ORDER BY 1' })).toEqual(
      ids.slice(1).map((id) => ({ id })),
    );
  });
});

describe('the event of a write', () => {
  const nowMs = Date.UTC(2026, 5, 1);
  beforeAll(async () => {
    await sql.query({
      text: `INSERT INTO ingest.networks (network_id, channels) VALUES ('acme', '{main}'), ('demo', '{main}')`,
    });
  });

  it('is found by the index when it is old, however many there are', async () => {
    await sql.query({
      text: `INSERT INTO ingest.writes SELECT gen_random_uuid(), n, 1, 0, 'acme', 'main', '', '', '[]' FROM generate_series(1, 20000) n`,
    });
    await sql.query({ text: 'ANALYZE ingest.writes' });
    const scans = await scansOf(sql, removeOldWrites(90, nowMs, 1000));
    expect(scans).toMatchObject({ indexes: expect.arrayContaining(['writes_pkey']) });
    expect(scans.whole).not.toContain('writes');
  });

  it('is removed after EVENT_RETENTION_DAYS in every network; newer ones stay', async () => {
    await sql.query({ text: 'DELETE FROM ingest.writes' });
    const at = (ms: number) => ms.toString(16).padStart(12, '0').padEnd(32, '0');
    const kept = [at(nowMs - 90 * DAY_MS), at(nowMs)];
    const old = Array.from({ length: 1500 }, (_, n) => at(nowMs - 90 * DAY_MS - 1 - n));
    for (const network of ['acme', 'demo'])
      await sql.query({
        text: `INSERT INTO ingest.writes SELECT id, 0, 1, 0, $2, 'main', '', '', '[]' FROM unnest($1::uuid[]) id`,
        values: [[...kept, ...old], network],
      });
    const { writes } = ingestRemovals(sql, { eventDays: 90, claimDays: undefined }, () => nowMs);
    expect(await removeInSteps(writes!)).toBe(3000);
    const left = await sql.query<{ id: string }>({ text: 'SELECT event_id AS id FROM ingest.writes ORDER BY 1' });
    expect(left.map(({ id }) => id.replaceAll('-', ''))).toEqual(kept.flatMap((id) => [id, id]));
  });
});
