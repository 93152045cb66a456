import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let viewer: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  // The failures that an address may have fill up from the start of the service on.
  service.skewMs += 10_000;
  orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  for (const department of ['ops', 'fin']) await rowsOf(service, owner).asset({ name: department, department });
}, 120_000);
afterAll(() => service.stop());

const page = (path = '/api/v1/assets') => service.api.get(path, viewer.key);
const change = (text: string) => service.sql.query({ text, values: [viewer.id] });

beforeEach(async () => {
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { unrestricted: true } });
  // From now on the caller is known.
  expect((await page()).json).toMatchObject({ pagination: { count: 2 } });
});

describe('a page confirms its caller', () => {
  it.each(['/assets', '/assets?limit=1', '/assets?type=none', '/assets?q=ops', '/risks', '/evidence', '/policies'])(
    'without a look-up of its own: %s',
    async (path) => {
      const asked = jest.spyOn(service.sql, 'query');
      expect((await page(`/api/v1${path}`)).status).toBe(200);
      const lookUps = asked.mock.calls.filter(([{ name }]) => name === 'risk callers');
      asked.mockRestore();
      expect(lookUps).toEqual([]);
    },
  );

  it.each([
    ['a revoked key', 401, 'UPDATE risk.api_keys SET revoked_at = created_at WHERE owner_id = $1'],
    ['an expired key', 401, 'UPDATE risk.api_keys SET expires_at = created_at WHERE owner_id = $1'],
    ['a key at the end of its overlap', 401, 'UPDATE risk.api_keys SET overlap_until = created_at WHERE owner_id = $1'],
    ['a person who was removed', 401, 'UPDATE risk.people SET removed_at = created_at WHERE person_id = $1'],
    ['a person without a role', 403, "UPDATE risk.people SET roles = '{}' WHERE person_id = $1"],
  ])('and refuses %s at once', async (_who, status, text) => {
    await change(text);
    expect((await page()).status).toBe(status);
    expect((await page('/api/v1/assets?type=none')).status).toBe(status);
    const { headers } = await service.api.get('/api/v1/assets', viewer.key, { 'if-none-match': '*' });
    expect(headers.etag).toBeUndefined();
    if (status === 401) expect((await page('/api/v1/assets?limit=x')).status).toBe(status);
  });

  it('and shows the rows of another scope at once', async () => {
    await change("UPDATE risk.people SET unrestricted = false, departments = '{fin}' WHERE person_id = $1");
    expect((await page()).json).toMatchObject({ items: [{ name: 'fin' }], pagination: { count: 1 } });
    await change("UPDATE risk.people SET roles = '{owner}' WHERE person_id = $1");
    expect((await page()).json).toMatchObject({ pagination: { count: 2 } });
  });

  it('who is looked up again after seconds', async () => {
    const asked = jest.spyOn(service.sql, 'query');
    service.skewMs += 11_000;
    await page();
    const lookUps = asked.mock.calls.filter(([{ name }]) => name === 'risk callers');
    asked.mockRestore();
    expect(lookUps).toHaveLength(1);
  });
});
