import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { MCP_HEADERS } from './testing/tool-caller.ts';

let postgres: OwnPostgres;
let there: TestInstallation;
let owner: TestPerson;

beforeAll(async () => {
  postgres = await throwawayPostgres({ own: true, durable: true });
  there = await testInstallation({}, postgres);
  owner = await there.newPerson(await there.newOrg(), ['owner']);
  await rowsOf(there, owner).risk();
  // From then on the keys are known here.
  expect((await there.api.get('/.well-known/jwks.json')).status).toBe(200);
}, 120_000);
afterAll(() => there.stop());

describe('while the database is away', () => {
  it('every door says 503 in bounded time, never 401 and never 500; and it all goes on once it is back', async () => {
    await postgres.halt('immediate');
    const began = performance.now();
    const body = { title: 'x', category: 'y', inherent: { likelihood: 1, impact: 1 } };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_risks', arguments: {} } };
    const answers = await Promise.all([
      there.api.get('/api/v1/risks', owner.key),
      there.api.get('/api/risks', owner.key),
      there.api.send('POST', '/api/risks', { key: owner.key, body }),
      there.api.send('POST', '/mcp', { key: owner.key, body: call, headers: MCP_HEADERS }),
      there.admin('GET', '/orgs'),
      there.admin('POST', '/orgs', { name: 'x' }),
    ]);
    for (const { status, json, headers } of answers) {
      expect({ status, code: (json as { code: string }).code }).toEqual({ status: 503, code: 'UNAVAILABLE' });
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expect(performance.now() - began).toBeLessThan(5000);
    // A key that can be none needs no database to be refused, and what is open and known needs none either.
    expect((await there.api.get('/api/risks', 'svc_none')).status).toBe(401);
    for (const path of ['/api/v1/openapi.json', '/.well-known/jwks.json'])
      expect((await there.api.get(path)).status).toBe(200);
    await postgres.restart();
    await until(async () => (await there.api.get('/api/v1/risks', owner.key)).status === 200, {
      what: 'the database to be back',
      timeoutMs: 20_000,
    });
    await rowsOf(there, owner).risk();
  }, 60_000);

  it('what was approved before a crash is anchored after it', async () => {
    const reviewer = await there.newPerson(
      ((await there.api.get('/api/v1/whoami', owner.key)).json as { orgId: string }).orgId,
      ['admin'],
    );
    const { id } = await rowsOf(there, owner).evidence();
    await rowsOf(there, owner).transition(id, 'in_review');
    await rowsOf(there, reviewer).transition(id, 'approved');
    await postgres.halt('immediate');
    await postgres.restart();
    const anchored = async () => {
      const { json } = await there.api.get(`/api/v1/evidence/${id}`, owner.key);
      return (json as { item?: { ledgerRecordId: string | null } }).item?.ledgerRecordId != null;
    };
    await until(anchored, { what: 'the anchor', timeoutMs: 40_000 });
  }, 90_000);
});
