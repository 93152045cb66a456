import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { approvedEvidence, rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/refusal-text.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;
let there: TestInstallation;
let orgId: string;
let owner: TestPerson;
let auditor: TestPerson;
let viewer: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  there = await testInstallation();
  orgId = await there.newOrg('Acme');
  const person = (role: string, name: string) => there.newPerson(orgId, [role], { name });
  owner = await person('owner', 'Olga');
  auditor = await person('auditor', 'Anna');
  viewer = await person('viewer', 'Viktor');
  partner = await person('partner_read', 'Partner');
}, 120_000);
afterAll(() => there.stop());

const get = async (path: string, { key }: TestPerson = owner) => (await there.api.get(path, key)).json as Made;
const titles = (rows: unknown) => (rows as { title: string }[]).map(({ title }) => title);

describe('the heat map', () => {
  it('counts open risks by likelihood and impact, whatever their texts say', async () => {
    const write = rowsOf(there, owner);
    const trick = '"current":{"likelihood":9,"impact":9 \u0000';
    await write.risk({
      inherent: { likelihood: 5, impact: 4 },
      current: { likelihood: 2, impact: 4 },
      description: trick,
    });
    await write.risk({
      ...{ inherent: { likelihood: 5, impact: 4 }, residual: { likelihood: 1, impact: 1 } },
      ...{ title: '"inherent":{"likelihood":1,"impact":1' },
    });
    for (const status of ['closed', 'archived']) await write.risk({ status });
    expect(await get('/api/heat-map')).toEqual({
      total: 2,
      inherent: [{ likelihood: 5, impact: 4, count: 2 }],
      current: [
        { likelihood: 2, impact: 4, count: 1 },
        { likelihood: 5, impact: 4, count: 1 },
      ],
      residual: [{ likelihood: 1, impact: 1, count: 1 }],
    });
  });

  it('holds the rows of the caller alone', async () => {
    expect(await get('/api/heat-map', viewer)).toEqual({ total: 0, inherent: [], current: [], residual: [] });
  });
});

describe('the board of evidence', () => {
  it('counts every state at this moment, and says who acts', async () => {
    const soon = (days: number) => ({ validUntil: new Date(Date.now() + days * DAY_MS).toISOString() });
    const write = rowsOf(there, owner);
    await write.evidence({ state: 'requested', sha256: undefined });
    await write.evidence();
    await approvedEvidence(there, [owner, await there.newPerson(orgId, ['admin'])], soon(10));
    const { states } = (await get('/api/evidence-board')) as unknown as { states: { state: string; count: number }[] };
    expect(states).toHaveLength(10);
    expect(states.filter(({ count }) => count > 0)).toEqual([
      { state: 'requested', count: 1, actsNext: 'owner' },
      { state: 'collected', count: 1, actsNext: 'collector' },
      { state: 'expiring', count: 1, actsNext: 'owner' },
    ]);
    expect(states.find(({ state }) => state === 'in_review')).toMatchObject({ count: 0, actsNext: 'reviewer' });
    expect(states.find(({ state }) => state === 'approved')).toMatchObject({ count: 0, actsNext: null });
    expect(await get('/api/evidence?state=expiring')).toHaveLength(1);
    expect(await get('/api/evidence?state=approved')).toHaveLength(0);
  });
});

describe('the lists of the dashboard', () => {
  it('take the filters of the partner lists, and the owner', async () => {
    const write = rowsOf(there, owner);
    await write.risk({ title: 'Mine', category: 'filtered', inherent: { likelihood: 5, impact: 5 } });
    await write.risk({ title: 'Hers', category: 'filtered', ownerId: auditor.id });
    expect(titles(await get('/api/risks?category=filtered'))).toEqual(['Mine', 'Hers']);
    expect(titles(await get('/api/risks?category=filtered&level=critical'))).toEqual(['Mine']);
    expect(titles(await get(`/api/risks?category=filtered&ownerId=${auditor.id}`))).toEqual(['Hers']);
    expect(await get('/api/risks?category=filtered&status=closed')).toEqual([]);
  });

  it('go on under the same filters, and under no others', async () => {
    const first = await there.api.get('/api/risks?category=filtered&limit=1', owner.key);
    const next = /<([^>]+)>/.exec(String(first.headers['link']))![1]!;
    expect(next).toMatch(/^\/api\/risks\?limit=1&category=filtered&cursor=/);
    expect(titles(await get(next))).toEqual(['Hers']);
    expect(await refusalText(there.api.get(next.replace('filtered', 'other'), owner.key))).toBe(
      '400 INVALID_CURSOR /cursor',
    );
  });

  it.each([
    ['/api/risks?status=open', '400 INVALID_REQUEST /status'],
    ['/api/risks?nonsense=1', '400 UNKNOWN_PARAMETER /nonsense'],
    ['/api/controls?ownerId=per_1', '400 UNKNOWN_PARAMETER /ownerId'],
    ['/api/people?q=x', '400 UNKNOWN_PARAMETER /q'],
  ])('refuse %s', async (path, refusal) => {
    expect(await refusalText(there.api.get(path, owner.key))).toBe(refusal);
  });
});

describe('a framework', () => {
  it('is read with the titles of its requirements, in their order, by whoever is in the organisation', async () => {
    const requirements = [
      { id: 'B.2', title: 'Second letter' },
      { id: 'A.1', title: 'First letter' },
    ];
    const made = (await there.admin('POST', `/orgs/${orgId}/frameworks`, { name: 'Base', version: '1', requirements }))
      .json;
    const { id } = made as Made;
    expect(await get(`/api/frameworks/${id}`, viewer)).toMatchObject({ id, name: 'Base', version: '1', requirements });
    const stranger = await there.newPerson(await there.newOrg('Globex'), ['owner']);
    expect(await refusalText(there.api.get(`/api/frameworks/${id}`, stranger.key))).toBe('404 NOT_FOUND');
  });
});

describe('the people of an organisation', () => {
  it('are listed for owners, administrators and auditors, page by page', async () => {
    const first = await there.api.get('/api/people?limit=2', auditor.key);
    expect(first.json).toMatchObject([
      { id: owner.id, name: 'Olga', kind: 'human', roles: ['owner'], scope: { unrestricted: false, departments: [] } },
      { id: auditor.id, name: 'Anna', roles: ['auditor'] },
    ]);
    const next = /<([^>]+)>/.exec(String(first.headers['link']))![1]!;
    expect(await get(next, auditor)).toMatchObject([{ name: 'Viktor' }, { name: 'Partner' }]);
  });

  it('are nobody else to see', async () => {
    expect(await refusalText(there.api.get('/api/people', viewer.key))).toBe('403 FORBIDDEN');
  });

  it('leave out who was removed', async () => {
    const gone = await there.newPerson(orgId, ['viewer'], { name: 'Gone' });
    expect((await there.admin('DELETE', `/orgs/${orgId}/people/${gone.id}`)).status).toBe(204);
    const names = ((await get('/api/people')) as unknown as { name: string }[]).map(({ name }) => name);
    expect(names).toContain('Viktor');
    expect(names).not.toContain('Gone');
  });
});

describe('somebody who reads for a partner', () => {
  it.each(['/api/heat-map', '/api/evidence-board', '/api/people', '/api/organizations', '/api/frameworks/fwk_1'])(
    'is refused %s',
    async (path) => {
      expect(await refusalText(there.api.get(path, partner.key))).toBe('403 FORBIDDEN');
    },
  );

  it('has one organisation by key otherwise', async () => {
    expect(await get('/api/organizations', viewer)).toEqual([{ id: orgId, name: 'Acme' }]);
  });
});
