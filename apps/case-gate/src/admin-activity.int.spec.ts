import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
beforeAll(async () => {
  site = await gateSite();
}, SETUP_MS);
afterAll(() => site.stop());

interface Counted {
  readonly allow: number;
  readonly deny: number;
}
interface Activity {
  readonly from: string;
  readonly hours: readonly (Counted & { readonly at: string })[];
  readonly venues: readonly (Counted & { readonly venue_id: string | null })[];
}

const check = (subjectRef: string, venueId: string, key = site.key) =>
  site.ask('POST', '/v1/gate/check', { key, body: { subject_ref: subjectRef, venue_id: venueId } });
const activity = async (query = ''): Promise<Activity> => (await site.admin('GET', `/activity${query}`)).body;
const sumOf = (rows: readonly Counted[]) => rows.reduce((sum, { allow, deny }) => sum + allow + deny, 0);

describe('the activity of the gate', () => {
  it('counts decisions by outcome, hour and venue, of one environment, and venues that do not exist together', async () => {
    const { subjectRef } = await sealedCase(site, site.key);
    const other = await site.newKey(undefined, 'test');
    for (const venue of ['hall', 'hall', 'nowhere', 'elsewhere']) await check(subjectRef, venue);
    await check('subj_unknown', 'hall');
    await check(subjectRef, 'hall', other);
    // They are logged off the request path.
    await until(async () => sumOf((await activity()).hours) === 5, { what: 'five counted decisions' });
    const { from, hours, venues } = await activity();
    expect(from).toMatch(/:00:00\.000Z$/);
    expect(hours.every(({ at }) => at >= from && at.endsWith(':00:00.000Z'))).toBe(true);
    expect(hours.reduce((sum, { allow }) => sum + allow, 0)).toBe(2);
    expect(venues).toEqual([
      { venue_id: 'hall', allow: 2, deny: 1 },
      { venue_id: null, allow: 0, deny: 2 },
    ]);
    await until(async () => sumOf((await activity('?environment=test')).hours) === 1, {
      what: 'that of the other environment',
    });
    expect((await activity('?environment=none')).venues).toEqual([]);
  });

  it('is of the last hours that are asked for', async () => {
    const hourMs = 3_600_000;
    const { from } = await activity('?hours=1');
    expect((Date.parse(from) - Date.parse((await activity('?hours=168')).from)) / hourMs).toBe(167);
    expect(sumOf((await activity('?hours=168')).hours)).toBe(5);
    for (const hours of ['0', '169', '1.5', 'a', ''])
      expectProblem(await site.admin('GET', `/activity?hours=${hours}`), 'INVALID_REQUEST');
    expectProblem(await site.admin('GET', '/activity?days=1'), 'UNKNOWN_PARAMETER');
  });

  it('reads the counts by their index', async () => {
    await site.sql.query({
      text: `INSERT INTO gate.decision_counts (environment, span, starts_at, venue_id, decision, shard, decisions)
             SELECT 'env-' || e, 'hour', date_trunc('hour', now()) - h * interval '1 hour', '', 'deny', s, 1
               FROM generate_series(1, 50) e, generate_series(0, 99) h, generate_series(0, 3) s`,
    });
    await site.sql.query({ text: 'ANALYZE gate.decision_counts' });
    const plan = await site.sql.query<{ 'QUERY PLAN': string }>({
      text: `EXPLAIN SELECT sum(decisions) FROM gate.decision_counts
              WHERE environment = 'env-7' AND span = 'hour' AND starts_at >= now() - interval '1 day'`,
    });
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('decision_counts_pkey');
  });
});
