import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { approvedEvidence, rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;
let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let auditor: TestPerson;
let viewer: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg('Acme');
  const person = (role: string, name: string) => service.newPerson(orgId, [role], { name });
  owner = await person('owner', 'Olga');
  auditor = await person('auditor', 'Anna');
  viewer = await person('viewer', 'Viktor');
  partner = await person('partner_read', 'Partner');
}, 120_000);
afterAll(() => service.stop());

const get = async (path: string, { key }: TestPerson = owner) => (await service.api.get(path, key)).json as Made;
const titles = (rows: unknown) => (rows as { title: string }[]).map(({ title }) => title);

describe('the heat map', () => {
  it('counts open risks by likelihood and impact, whatever their texts contain', async () => {
    const write = rowsOf(service, owner);
    const trick = '"current":{"likelihood":9,"impact":9 \u0000';
    await write.risk({
      inherent: { likelihood: 5, impact: 4 },
      current: { likelihood: 2, impact: 4 },
      description: trick,
    });
    await write.risk({
      inherent: { likelihood: 5, impact: 4 },
      residual: { likelihood: 1, impact: 1 },
      title: '"inherent":{"likelihood":1,"impact":1',
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

  it('counts only rows that the caller may see', async () => {
    expect(await get('/api/heat-map', viewer)).toEqual({ total: 0, inherent: [], current: [], residual: [] });
  });
});

describe('the trend of ratings', () => {
  it('tells how many open risks of each level there were at the end of each month, by today and what came since', async () => {
    const other = await service.newOrg('Trend');
    const lead = await service.newPerson(other, ['risk_manager']);
    const narrow = await service.newPerson(other, ['viewer'], {
      scope: { departments: ['legal'], canReadSensitive: false, unrestricted: false },
    });
    const write = rowsOf(service, lead);
    await write.risk({ inherent: { likelihood: 5, impact: 5 }, department: 'legal' });
    const { id } = await write.risk({ inherent: { likelihood: 1, impact: 1 }, department: 'sales' });
    await write.risk({ inherent: { likelihood: 3, impact: 3 }, status: 'closed' });
    const months = async (person: TestPerson, count: number) =>
      ((await get(`/api/trends?months=${count}`, person)) as unknown as { months: Record<string, unknown>[] }).months;
    const none = { low: 0, medium: 0, high: 0, critical: 0 };
    const [before, now] = await months(lead, 2);
    expect(before).toEqual({ month: expect.stringMatching(/^\d{4}-\d{2}$/), ...none });
    expect(now).toMatchObject({ ...none, low: 1, critical: 1 });
    expect((await months(narrow, 1))[0]).toMatchObject({ ...none, critical: 1 });
    // As if the first risk had been there for a month, with another rating before.
    const at = (back: number) => `date_trunc('month', now(), 'UTC') - interval '${back} months'`;
    await service.sql.query({
      text: `UPDATE risk.rating_changes SET month = ${at(1)} WHERE org_id = $1 AND cell = 'current:5:5'`,
      values: [other],
    });
    await service.sql.query({
      text: `INSERT INTO risk.rating_changes (org_id, owner_id, month, cell, department, sensitive, delta)
             VALUES ($1, '', ${at(1)}, 'current:2:4', 'legal', false, -1), ($1, '', ${at(2)}, 'current:2:4', 'legal', false, 1)`,
      values: [other],
    });
    expect(await months(lead, 4)).toMatchObject([
      none,
      { ...none, medium: 1 },
      { ...none, critical: 1 },
      { ...none, low: 1, critical: 1 },
    ]);
    expect((await months(narrow, 2))[0]).toMatchObject({ ...none, critical: 1 });
    // A change within a month is of that month, and a deletion too.
    const { headers } = await service.api.get(`/api/risks/${id}`, lead.key);
    const changed = await service.api.send('PATCH', `/api/risks/${id}`, {
      key: lead.key,
      headers: { 'if-match': String(headers['etag']) },
      body: { current: { likelihood: 4, impact: 4 } },
    });
    expect(changed.status).toBe(200);
    expect((await months(lead, 2)).map(({ low, high }) => [low, high])).toEqual([
      [0, 0],
      [0, 1],
    ]);
  });

  it.each([
    ['/api/trends?months=0', '400 INVALID_REQUEST /months'],
    ['/api/trends?months=25', '400 INVALID_REQUEST /months'],
    ['/api/trends?weeks=1', '400 UNKNOWN_PARAMETER /weeks'],
  ])('refuses %s', async (path, refusal) => {
    expect(await refusalText(service.api.get(path, owner.key))).toBe(refusal);
  });
});

describe('the evidence board', () => {
  it('counts evidence by current state, with who has to act', async () => {
    const soon = (days: number) => ({ validUntil: new Date(Date.now() + days * DAY_MS).toISOString() });
    const write = rowsOf(service, owner);
    await write.evidence({ state: 'requested', sha256: undefined });
    await write.evidence();
    await approvedEvidence(service, [owner, await service.newPerson(orgId, ['admin'])], soon(10));
    const { states } = (await get('/api/evidence-board')) as unknown as { states: { state: string; count: number }[] };
    expect(states).toHaveLength(10);
    expect(states.filter(({ count }) => count > 0)).toEqual([
      { state: 'requested', count: 1, actsNext: 'owner' },
      { state: 'collected', count: 1, actsNext: 'collector' },
      { state: 'expiring', count: 1, actsNext: 'owner' },
    ]);
    expect(states.find(({ state }) => state === 'in_review')).toMatchObject({ count: 0, actsNext: 'reviewer' });
    expect(states.find(({ state }) => state === 'approved')).toMatchObject({ count: 0, actsNext: null });
    const { states: withFirst } = (await get('/api/evidence-board?cards=1')) as unknown as {
      states: { state: string; first?: object[] }[];
    };
    // Meanwhile the ledger may have taken a fingerprint, which shows in both of these.
    const settled = { ledgerRecordId: undefined, updatedAt: undefined };
    for (const state of ['requested', 'collected', 'expiring']) {
      const first = withFirst.find((each) => each.state === state)?.first;
      const [row] = (await get(`/api/evidence?state=${state}&limit=1`)) as unknown as object[];
      expect([state, first?.map((each) => ({ ...each, ...settled }))]).toEqual([state, [{ ...row, ...settled }]]);
    }
    expect(withFirst.filter(({ first }) => first !== undefined)).toHaveLength(3);
    for (const cards of ['0', '11', 'all'])
      expect(await refusalText(service.api.get(`/api/evidence-board?cards=${cards}`, owner.key))).toBe(
        '400 INVALID_REQUEST /cards',
      );
    expect(await get('/api/evidence?state=expiring')).toHaveLength(1);
    expect(await get('/api/evidence?state=approved')).toHaveLength(0);
  });
});

describe('the lists of the dashboard', () => {
  it('accept the filters of the partner lists, and ownerId', async () => {
    const write = rowsOf(service, owner);
    await write.risk({ title: 'Mine', category: 'filtered', inherent: { likelihood: 5, impact: 5 } });
    await write.risk({ title: 'Hers', category: 'filtered', ownerId: auditor.id });
    expect(titles(await get('/api/risks?category=filtered'))).toEqual(['Mine', 'Hers']);
    expect(titles(await get('/api/risks?category=filtered&level=critical'))).toEqual(['Mine']);
    expect(titles(await get(`/api/risks?category=filtered&ownerId=${auditor.id}`))).toEqual(['Hers']);
    expect(await get('/api/risks?category=filtered&status=closed')).toEqual([]);
  });

  it('find what names a control, and not by the id of another row', async () => {
    const write = rowsOf(service, owner);
    const control = await write.control({ title: 'Named' });
    const hidden = await write.evidence({ sensitive: true });
    await write.risk({ title: 'Names it', controlIds: [control.id], evidenceIds: [hidden.id] });
    await write.asset({ name: 'Named too', controlIds: [control.id] });
    expect(titles(await get(`/api/risks?controlId=${control.id}`, auditor))).toEqual(['Names it']);
    expect(await get(`/api/assets?controlId=${control.id}`)).toMatchObject([{ name: 'Named too' }]);
    expect((await service.api.get(`/api/risks/export?format=csv&controlId=${control.id}`, auditor.key)).text).toContain(
      'Names it',
    );
    for (const id of ['ctl_none', hidden.id])
      for (const path of [`/api/risks?controlId=${id}`, `/api/risks/export?format=csv&controlId=${id}`])
        expect(await refusalText(service.api.get(path, auditor.key))).toBe('404 NOT_FOUND /controlId');
    expect(await refusalText(service.api.get('/api/policies?controlId=ctl_none', owner.key))).toBe(
      '400 UNKNOWN_PARAMETER /controlId',
    );
  });

  it('continue with the same filters only', async () => {
    const first = await service.api.get('/api/risks?category=filtered&limit=1', owner.key);
    const next = /<([^>]+)>/.exec(String(first.headers['link']))![1]!;
    expect(next).toMatch(/^\/api\/risks\?limit=1&category=filtered&cursor=/);
    expect(titles(await get(next))).toEqual(['Hers']);
    expect(await refusalText(service.api.get(next.replace('filtered', 'other'), owner.key))).toBe(
      '400 INVALID_CURSOR /cursor',
    );
  });

  it.each([
    ['/api/risks?status=open', '400 INVALID_REQUEST /status'],
    ['/api/risks?nonsense=1', '400 UNKNOWN_PARAMETER /nonsense'],
    ['/api/controls?ownerId=per_1', '400 UNKNOWN_PARAMETER /ownerId'],
    ['/api/people?q=', '400 INVALID_REQUEST /q'],
  ])('refuse %s', async (path, refusal) => {
    expect(await refusalText(service.api.get(path, owner.key))).toBe(refusal);
  });
});

describe('a framework', () => {
  it('is read with the titles of its requirements, in order, by every member of the organisation', async () => {
    const requirements = [
      { id: 'B.2', title: 'Second letter' },
      { id: 'A.1', title: 'First letter' },
    ];
    const made = (
      await service.admin('POST', `/orgs/${orgId}/frameworks`, { name: 'Base', version: '1', requirements })
    ).json;
    const { id } = made as Made;
    expect(await get(`/api/frameworks/${id}`, viewer)).toMatchObject({ id, name: 'Base', version: '1', requirements });
    const stranger = await service.newPerson(await service.newOrg('Globex'), ['owner']);
    expect(await refusalText(service.api.get(`/api/frameworks/${id}`, stranger.key))).toBe('404 NOT_FOUND');
  });
});

describe('the people of an organisation', () => {
  it('are listed for owners, administrators and auditors, page by page', async () => {
    const first = await service.api.get('/api/people?limit=2', auditor.key);
    expect(first.json).toMatchObject([
      { id: owner.id, name: 'Olga', kind: 'human', roles: ['owner'], scope: { unrestricted: false, departments: [] } },
      { id: auditor.id, name: 'Anna', roles: ['auditor'] },
    ]);
    const next = /<([^>]+)>/.exec(String(first.headers['link']))![1]!;
    expect(await get(next, auditor)).toMatchObject([{ name: 'Viktor' }, { name: 'Partner' }]);
  });

  it('are hidden from other roles', async () => {
    expect(await refusalText(service.api.get('/api/people', viewer.key))).toBe('403 FORBIDDEN');
  });

  it('do not include removed people', async () => {
    const gone = await service.newPerson(orgId, ['viewer'], { name: 'Gone' });
    expect((await service.admin('DELETE', `/orgs/${orgId}/people/${gone.id}`)).status).toBe(204);
    const names = ((await get('/api/people')) as unknown as { name: string }[]).map(({ name }) => name);
    expect(names).toContain('Viktor');
    expect(names).not.toContain('Gone');
  });
});

describe('a partner machine', () => {
  it.each([
    '/api/heat-map',
    '/api/trends',
    '/api/evidence-board',
    '/api/people',
    '/api/organizations',
    '/api/frameworks/fwk_1',
  ])('is refused %s', async (path) => {
    expect(await refusalText(service.api.get(path, partner.key))).toBe('403 FORBIDDEN');
  });

  it('lists its one organisation to other keys', async () => {
    const { personId, roles, permissions, scope } = await get('/api/whoami', viewer);
    const member = { personId, roles, permissions, scope };
    expect(member).toMatchObject({ personId: viewer.id, roles: ['viewer'] });
    expect(await get('/api/organizations', viewer)).toEqual([{ id: orgId, name: 'Acme', member }]);
  });
});
