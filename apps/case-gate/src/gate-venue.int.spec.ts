import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { gateSite, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
beforeAll(async () => {
  site = await gateSite();
}, SETUP_MS);
afterAll(() => site.stop());

describe('the venue of a door', () => {
  const read = (key?: string, venue = 'hall') =>
    site.ask('GET', `/v1/gate/venues/${venue}`, key === undefined ? {} : { key });

  it('is told to a key that may ask the gate, and that it was closed', async () => {
    const key = await site.newKey(['gate:check']);
    const answer = await read(key);
    expect([answer.status, answer.body]).toEqual([200, { venue_id: 'hall', name: 'Hall', active: true }]);
    expect((await site.admin('PATCH', '/venues/hall', { active: false })).status).toBe(200);
    expect((await read(key)).body).toMatchObject({ active: false });
  });

  it('is 401 without a live key, 403 without the scope, and 404 for no id, elsewhere and in another environment', async () => {
    const key = await site.newKey(['gate:check']);
    expect((await read()).status).toBe(401);
    expect((await read(`gk_${'x'.repeat(43)}`)).status).toBe(401);
    expect((await read(await site.newKey(['case:read', 'eligibility:read']))).status).toBe(403);
    expect((await read(key, 'hall%201')).status).toBe(404);
    expect((await read(key, 'hall-2')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect((await read(await site.newKey(['gate:check'], 'test'))).status).toBe(404);
  });
});
