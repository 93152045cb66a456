import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let auditor: TestPerson;
let viewer: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg('Acme');
  owner = await service.newPerson(orgId, ['owner']);
  auditor = await service.newPerson(orgId, ['auditor']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { unrestricted: true } });
  const write = rowsOf(service, owner);
  await write.risk({ title: '=HYPERLINK("http://x")', refId: '-1' });
  await write.risk({ title: 'Plain, with a comma', category: 'legal' });
  await write.risk({ title: 'Hidden', sensitive: true });
}, 120_000);
afterAll(() => service.stop());

const exported = async (path: string, { key }: TestPerson = owner) => service.api.get(path, key);
const lines = (text: string) => text.trimEnd().split(/\r?\n/);

describe('an export', () => {
  it('is CSV that a spreadsheet does not run, with a column for each member', async () => {
    const { status, headers, text } = await exported('/api/risks/export?format=csv');
    expect([status, headers['content-type'], headers['content-disposition'], headers['cache-control']]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
      'attachment; filename="risks.csv"',
      'no-store',
    ]);
    const [header, first, second] = lines(text);
    expect(header).toMatch(/^id,title,refId,category,description,inherent\.likelihood,inherent\.impact,/);
    expect(first).toContain(`,"'=HYPERLINK(""http://x"")",'-1,ops,`);
    expect(second).toContain(',"Plain, with a comma",,legal,');
    expect(text.split('\r\n')).toHaveLength(5);
  });

  it('is JSON Lines with the rows of the list and the names of their owners, in its order', async () => {
    const { headers, text } = await exported('/api/risks/export?format=jsonl&sort=-title');
    expect(headers['content-type']).toBe('application/jsonl');
    const list = (await exported('/api/risks?sort=-title')).json as Made[];
    expect(lines(text).map((line) => JSON.parse(line) as unknown)).toEqual(
      list.map((risk) => ({ ...risk, ownerName: 'The owner' })),
    );
  });

  it('has the filters, the search and the rows of the caller', async () => {
    expect(lines((await exported('/api/risks/export?format=csv&category=legal')).text)).toHaveLength(2);
    expect(lines((await exported('/api/risks/export?format=csv&q=hidden')).text)).toHaveLength(2);
    expect(lines((await exported('/api/risks/export?format=csv&q=hidden', auditor)).text)).toHaveLength(1);
    expect(lines((await exported('/api/risks/export?format=jsonl', auditor)).text)).toHaveLength(2);
  });

  it('without rows is a header', async () => {
    expect(lines((await exported('/api/assets/export?format=csv')).text)[0]).toMatch(/^id,name,refId,/);
    expect((await exported('/api/assets/export?format=jsonl')).text).toBe('');
    expect(lines((await exported('/api/policies/export?format=csv')).text)[0]).not.toMatch(/body[,.]/);
  });

  it('is recorded with what was asked', async () => {
    await exported('/api/risks/export?format=csv&q=plain&sort=title');
    const [event] = (await exported('/api/audit?action=risk.export&limit=1', auditor)).json as Made[];
    expect(event).toMatchObject({ actorId: owner.id, resource: 'list', resourceId: 'risks' });
    const stored = await service.sql.query<{ detail: string }>({
      text: 'SELECT detail FROM risk.audit_events WHERE id = $1',
      values: [event?.id],
    });
    expect(JSON.parse(stored[0]!.detail)).toEqual({ orgId, query: { format: 'csv', q: 'plain', sort: 'title' } });
  });

  it('of a HEAD has no body, and is not recorded', async () => {
    const count = async () => (await exported('/api/audit?action=asset.export')).headers['x-total-count'];
    const before = await count();
    const { status, headers, text } = await service.api.send('HEAD', '/api/assets/export?format=csv', {
      key: owner.key,
    });
    expect([status, headers['content-disposition'], text]).toEqual([200, 'attachment; filename="assets.csv"', '']);
    expect(await count()).toBe(before);
  });

  it('of the audit is for who reads it', async () => {
    const { text } = await exported('/api/audit/export?format=csv&resource=risk', auditor);
    expect(lines(text).slice(0, 2)).toEqual([
      'id,at,actorId,actorName,action,resource,resourceId,problem',
      expect.stringMatching(/^evt_.*,The owner,risk\.create,risk,rsk_.*,$/),
    ]);
    expect(await refusalText(exported('/api/audit/export?format=csv', viewer))).toBe('403 FORBIDDEN');
  });

  it.each([
    ['/api/risks/export', '400 INVALID_REQUEST /format'],
    ['/api/risks/export?format=xlsx', '400 INVALID_REQUEST /format'],
    ['/api/risks/export?format=csv&limit=5', '400 UNKNOWN_PARAMETER /limit'],
    ['/api/risks/export?format=csv&sort=colour', '400 INVALID_REQUEST /sort'],
    ['/api/evidence/export?format=csv&controlId=ctl_none', '404 NOT_FOUND /controlId'],
  ])('is refused for %s', async (path, refusal) => {
    expect(await refusalText(exported(path))).toBe(refusal);
  });

  it.each(['risks', 'evidence', 'controls', 'assets', 'policies'])(
    'of %s needs a permission of its own',
    async (name) => {
      expect(await refusalText(exported(`/api/${name}/export?format=csv`, viewer))).toBe('403 FORBIDDEN');
      expect((await exported(`/api/${name}/export?format=csv`, auditor)).status).toBe(200);
    },
  );
});

describe('people in an export', () => {
  const rowsOfKind = async (collection: string, person?: TestPerson) =>
    lines((await exported(`/api/${collection}/export?format=jsonl`, person)).text).map(
      (line) => JSON.parse(line) as Made,
    );

  it('have their names beside their ids, at any depth and in the header', async () => {
    const acme = await service.newOrg();
    const boss = await service.newPerson(acme, ['owner'], { name: '=Boss, Ltd' });
    const write = rowsOf(service, boss);
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await write.risk({ status: 'accepted', acceptance: { expiresAt } });
    const [risk] = await rowsOfKind('risks', boss);
    expect(risk).toMatchObject({
      ownerId: boss.id,
      ownerName: '=Boss, Ltd',
      acceptance: { acceptedBy: boss.id, acceptedByName: '=Boss, Ltd' },
    });
    const [header, row] = lines((await exported('/api/risks/export?format=csv', boss)).text);
    expect(header).toMatch(/,acceptance\.acceptedBy,acceptance\.acceptedByName,.*,ownerId,ownerName,/);
    expect(row).toContain(`,${boss.id},"'=Boss, Ltd",`);
    await write.evidence({ department: 'ops' });
    expect((await rowsOfKind('evidence', boss))[0]).toMatchObject({
      ownerName: '=Boss, Ltd',
      collectedByName: '=Boss, Ltd',
      reviewedBy: null,
      reviewedByName: null,
    });
  });

  it('have no name once they were removed, nor where they are operators', async () => {
    const acme = await service.newOrg();
    const [boss, gone] = [await service.newPerson(acme, ['owner']), await service.newPerson(acme, ['admin'])];
    await rowsOf(service, gone).risk();
    await service.api.send('DELETE', `/api/people/${gone.id}`, { key: boss.key });
    expect((await rowsOfKind('risks', boss))[0]).toMatchObject({ ownerId: gone.id, ownerName: null });
    const events = await rowsOfKind('audit', boss);
    expect(events.find(({ action }) => action === 'member.delete')).toMatchObject({ actorName: 'The owner' });
    expect(events.find(({ action }) => action === 'org.create')).toMatchObject({ actorName: null });
  });

  it('have no name for those who may not read the members', async () => {
    const manager = await service.newPerson(orgId, ['risk_manager']);
    const found = await rowsOfKind('risks', manager);
    expect(found).toHaveLength(3);
    for (const row of found) expect(row).toMatchObject({ ownerId: owner.id, ownerName: null });
  });
});

describe('the export of people', () => {
  it('is the list, with its words and order, and is recorded', async () => {
    const acme = await service.newOrg();
    const boss = await service.newPerson(acme, ['owner'], { name: 'Olga' });
    await service.newPerson(acme, ['viewer'], { name: '+Vera', scope: { departments: ['ops', 'hr'] } });
    await service.newPerson(acme, ['partner_read'], { name: 'Olga & Co' });
    const csv = lines((await exported('/api/people/export?format=csv&sort=name', boss)).text);
    expect(csv).toEqual([
      'id,name,kind,roles,scope.departments,scope.canReadSensitive,scope.unrestricted,lastSeenAt',
      expect.stringMatching(/^per_[^,]*,'\+Vera,human,"\[""viewer""\]","\[""ops"",""hr""\]",false,false,$/),
      expect.stringMatching(/,Olga,human,/),
      expect.stringMatching(/,Olga & Co,machine,/),
    ]);
    const list = (await exported('/api/people?q=olga&sort=-name', boss)).json;
    expect(await rowsIn('/api/people/export?format=jsonl&q=olga&sort=-name', boss)).toEqual(list);
    const [event] = (await exported('/api/audit?action=member.export&limit=1', boss)).json as Made[];
    expect(event).toMatchObject({ actorId: boss.id, resource: 'list', resourceId: 'people' });
  });

  const rowsIn = async (path: string, person: TestPerson) =>
    lines((await exported(path, person)).text).map((line) => JSON.parse(line) as unknown);

  it.each([
    ['', '400 INVALID_REQUEST /format'],
    ['?format=csv&sort=roles', '400 INVALID_REQUEST /sort'],
    ['?format=csv&limit=1', '400 UNKNOWN_PARAMETER /limit'],
  ])('is refused for "%s"', async (query, refusal) => {
    expect(await refusalText(exported(`/api/people/export${query}`))).toBe(refusal);
  });

  it('is for those who have member:export', async () => {
    expect((await exported('/api/people/export?format=csv', auditor)).status).toBe(200);
    for (const role of ['risk_manager', 'contributor', 'viewer', 'partner_read'])
      expect(await refusalText(exported('/api/people/export?format=csv', await service.newPerson(orgId, [role])))).toBe(
        '403 FORBIDDEN',
      );
  });
});
