import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { MCP_HEADERS } from './testing/http-caller.ts';

let postgres: OwnPostgres;
let service: TestInstallation;
let owner: TestPerson;

beforeAll(async () => {
  postgres = await throwawayPostgres({ own: true, durable: true });
  service = await testInstallation({}, postgres);
  owner = await service.newPerson(await service.newOrg(), ['owner']);
  await rowsOf(service, owner).risk();
  // The key set is cached from here on.
  expect((await service.api.get('/.well-known/jwks.json')).status).toBe(200);
}, 120_000);
afterAll(() => service.stop());

describe('while the database is down', () => {
  it('every route answers 503 in bounded time, never 401 or 500, and recovers afterwards', async () => {
    await postgres.halt('immediate');
    const began = performance.now();
    const body = { title: 'x', category: 'y', inherent: { likelihood: 1, impact: 1 } };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_risks', arguments: {} } };
    const answers = await Promise.all([
      service.api.get('/api/v1/risks', owner.key),
      service.api.get('/api/risks', owner.key),
      service.api.send('POST', '/api/risks', { key: owner.key, body }),
      service.api.send('POST', '/mcp', { key: owner.key, body: call, headers: MCP_HEADERS }),
      service.admin('GET', '/orgs'),
      service.admin('POST', '/orgs', { name: 'x' }),
    ]);
    for (const { status, json, headers } of answers) {
      expect({ status, code: (json as { code: string }).code }).toEqual({ status: 503, code: 'UNAVAILABLE' });
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    expect(performance.now() - began).toBeLessThan(5000);
    // A malformed key is refused without the database, and cached public documents need none either.
    expect((await service.api.get('/api/risks', 'svc_none')).status).toBe(401);
    for (const path of ['/api/v1/openapi.json', '/.well-known/jwks.json'])
      expect((await service.api.get(path)).status).toBe(200);
    await postgres.restart();
    await until(async () => (await service.api.get('/api/v1/risks', owner.key)).status === 200, {
      what: 'the database to be back',
      timeoutMs: 20_000,
    });
    await rowsOf(service, owner).risk();
  }, 60_000);

  it('concurrent changes of the admin API that wait too long for a lock answer 503', async () => {
    const orgId = await service.newOrg();
    const person = { name: 'Waiting', kind: 'human', roles: ['viewer'] };
    const answers = await service.sql.transaction(
      async (sql) => {
        await sql.query({ text: 'SELECT 1 FROM risk.orgs WHERE org_id = $1 FOR UPDATE', values: [orgId] });
        return Promise.all([1, 2, 3].map(() => service.admin('POST', `/orgs/${orgId}/people`, person)));
      },
      { deadlineMs: 20_000 },
    );
    for (const { status, text } of answers) expect({ status, text }).toMatchObject({ status: 503 });
    expect((await service.admin('POST', `/orgs/${orgId}/people`, person)).status).toBe(201);
  }, 60_000);

  it('evidence approved before a crash is anchored after it', async () => {
    const reviewer = await service.newPerson(
      ((await service.api.get('/api/v1/whoami', owner.key)).json as { orgId: string }).orgId,
      ['admin'],
    );
    const { id } = await rowsOf(service, owner).evidence();
    await rowsOf(service, owner).transition(id, 'in_review');
    await rowsOf(service, reviewer).transition(id, 'approved');
    await postgres.halt('immediate');
    await postgres.restart();
    const anchored = async () => {
      const { json } = await service.api.get(`/api/v1/evidence/${id}`, owner.key);
      return (json as { item?: { ledgerRecordId: string | null } }).item?.ledgerRecordId != null;
    };
    await until(anchored, { what: 'the anchor', timeoutMs: 40_000 });
  }, 90_000);
});
