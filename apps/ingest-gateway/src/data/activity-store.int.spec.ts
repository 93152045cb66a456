import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openTestEvents, type TestEvents } from '../testing/test-events.ts';
import { activityStore } from './activity-store.ts';

const EVENTS = 60_000;
let events: TestEvents;
beforeAll(async () => {
  events = await openTestEvents();
  const { sql } = events;
  const network = `CASE WHEN n % 2 = 0 THEN 'n1' ELSE 'n' || (n % 50 + 1) END`;
  await sql.query({
    text: `INSERT INTO ingest.networks (network_id, channels) SELECT 'n' || n, '{main}' FROM generate_series(1, 50) n`,
  });
  // One each minute.
  await sql.query({
    text: `INSERT INTO ingest.writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id,
                                      request_id, types)
           SELECT (lpad(to_hex(extract(epoch FROM timestamptz '2026-06-01Z')::bigint * 1000 + n * 60000::bigint), 12, '0')
                   || '7000' || substr(md5(n::text), 1, 16))::uuid, n, 1, 0, ${network}, 'main', '\\x00', '\\x00', '["a"]'
             FROM generate_series(0, ${EVENTS - 1}) n`,
  });
  await sql.query({ text: 'ANALYZE ingest.writes, ingest.networks' });
}, 60_000);
afterAll(() => events.close());

it('counts the writes of hours by their indexes, however often it is asked', async () => {
  const since = new Date('2026-07-01T00:00:00Z');
  await events.sql.transaction(async (sql) => {
    // After five times PostgreSQL may plan for any values.
    for (let time = 0; time < 8; time += 1) {
      const { hours } = await activityStore(sql).read(since, 24);
      expect(hours).toHaveLength(24);
      expect(new Set(hours.map(({ writes }) => writes))).toEqual(new Set([60]));
    }
    const [scans] = await sql.query<{ whole: string }>({
      text: `SELECT seq_scan AS whole FROM pg_stat_xact_user_tables WHERE schemaname = 'ingest' AND relname = 'writes'`,
    });
    expect(scans).toEqual({ whole: '0' });
  });
});
