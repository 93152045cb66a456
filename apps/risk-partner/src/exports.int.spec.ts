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

  it('is JSON Lines with the rows of the list, in its order', async () => {
    const { headers, text } = await exported('/api/risks/export?format=jsonl&sort=-title');
    expect(headers['content-type']).toBe('application/jsonl');
    const list = (await exported('/api/risks?sort=-title')).json;
    expect(lines(text).map((line) => JSON.parse(line) as unknown)).toEqual(list);
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
      'id,at,actorId,action,resource,resourceId,problem',
      expect.stringMatching(/^evt_.*,risk\.create,risk,rsk_.*,$/),
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
