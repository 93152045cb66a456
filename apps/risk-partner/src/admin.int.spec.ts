import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg('Acme');
}, 120_000);
afterAll(() => service.stop());

const code = async (answer: Promise<{ status: number; json: unknown }>): Promise<string> => {
  const { status, json } = await answer;
  return `${status} ${(json as { code?: string } | undefined)?.code ?? ''}`.trim();
};

describe('organisations', () => {
  it('are created, read and listed page by page', async () => {
    const made = await service.admin('POST', '/orgs', { name: 'Beta' });
    expect(made.json).toEqual({ id: expect.stringMatching(/^org_/), name: 'Beta', createdAt: expect.any(String) });
    expect((await service.admin('GET', `/orgs/${(made.json as Made).id}`)).json).toEqual(made.json);
    const names: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await service.admin('GET', `/orgs?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      const { items, nextCursor } = page.json as { items: Made[]; nextCursor: string | null };
      names.push(...items.map(({ name }) => name));
      cursor = nextCursor;
    } while (cursor !== null);
    expect(names).toEqual(['Acme', 'Beta']);
    expect(await code(service.admin('POST', '/orgs', { name: '' }))).toBe('400 INVALID_REQUEST');
    expect(await code(service.admin('GET', '/orgs/org_none'))).toBe('404 NOT_FOUND');
    expect(await code(service.admin('GET', '/orgs/org_none/people'))).toBe('404 NOT_FOUND');
    expect(await code(service.admin('POST', '/orgs/org_none/people', { name: 'x', kind: 'human' }))).toBe(
      '404 NOT_FOUND',
    );
    expect(
      await code(
        service.admin('POST', '/orgs/org_none/frameworks', {
          name: 'x',
          version: '1',
          requirements: [{ id: 'a', title: 'b' }],
        }),
      ),
    ).toBe('404 NOT_FOUND');
  });
});

describe('people', () => {
  const people = () => `/orgs/${orgId}/people`;

  it('have the roles and scope that were set, and the defaults of a partner machine', async () => {
    const human = await service.admin('POST', people(), {
      name: 'Ada',
      kind: 'human',
      scope: { departments: ['ops'] },
    });
    expect(human.json).toEqual({
      id: expect.stringMatching(/^per_/),
      orgId,
      name: 'Ada',
      kind: 'human',
      roles: [],
      scope: { departments: ['ops'], canReadSensitive: false, unrestricted: false },
      createdAt: expect.any(String),
    });
    const { id } = human.json as Made;
    expect((await service.admin('GET', `${people()}/${id}`)).json).toEqual(human.json);
    const machine = await service.admin('POST', people(), {
      name: 'Partner',
      kind: 'machine',
      roles: ['partner_read'],
    });
    expect(machine.json).toMatchObject({ scope: { unrestricted: true, canReadSensitive: false } });
    const scope = { departments: ['hr'], canReadSensitive: true, unrestricted: false };
    expect((await service.admin('PUT', `${people()}/${id}/scope`, scope)).json).toMatchObject({ scope });
    expect((await service.admin('PUT', `${people()}/${id}/roles`, { roles: ['viewer'] })).json).toMatchObject({
      scope,
      roles: ['viewer'],
    });
    // Omitted members grant nothing.
    expect((await service.admin('PUT', `${people()}/${id}/scope`, { departments: ['it'] })).json).toMatchObject({
      scope: { departments: ['it'], canReadSensitive: false, unrestricted: false },
    });
    expect(await code(service.admin('PUT', `${people()}/${id}/scope`, { rooms: [] }))).toBe('400 INVALID_REQUEST');
    const listed = (await service.admin('GET', people())).json as { items: Made[] };
    expect(listed.items.map(({ name }) => name)).toEqual(['Ada', 'Partner']);
  });

  it.each([
    [{ name: 'x', kind: 'robot' }],
    [{ name: 'x', kind: 'human', roles: ['king'] }],
    [{ name: 'x', kind: 'human', roles: ['viewer', 'viewer'] }],
    [{ name: 'x', kind: 'human', scope: { rooms: [] } }],
    [{ kind: 'human' }],
  ])('are refused for %j', async (body) =>
    expect(await code(service.admin('POST', people(), body))).toBe('400 INVALID_REQUEST'),
  );

  it('the last owner cannot be removed or lose the role', async () => {
    const org = await service.newOrg();
    const [first, second] = [await service.newPerson(org, ['owner']), await service.newPerson(org, ['owner', 'admin'])];
    const at = (id: string) => `/orgs/${org}/people/${id}`;
    const both = [first, second].map(({ id }) => code(service.admin('DELETE', at(id))));
    expect((await Promise.all(both)).sort()).toEqual(['204', '409 IN_USE']);
    const left = ((await service.admin('GET', `/orgs/${org}/people`)).json as { items: Made[] }).items[0]!.id;
    expect(await code(service.admin('PUT', `${at(left)}/roles`, { roles: ['admin'] }))).toBe('409 IN_USE');
    expect(await code(service.admin('PUT', `${at(left)}/roles`, { roles: ['owner'] }))).toBe('200');
  });

  it('removal is idempotent; an unknown person is 404', async () => {
    const { id } = await service.newPerson(orgId, ['viewer']);
    expect(await code(service.admin('DELETE', `${people()}/${id}`))).toBe('204');
    expect(await code(service.admin('DELETE', `${people()}/${id}`))).toBe('204');
    expect(await code(service.admin('DELETE', `${people()}/per_none`))).toBe('404 NOT_FOUND');
    expect(await code(service.admin('GET', `${people()}/${id}`))).toBe('404 NOT_FOUND');
    expect(await code(service.admin('PUT', `${people()}/${id}/roles`, { roles: [] }))).toBe('404 NOT_FOUND');
    expect(await code(service.admin('POST', `${people()}/${id}/keys`, { label: 'x' }))).toBe('404 NOT_FOUND');
    const other = await service.newOrg();
    const stranger = await service.newPerson(other, ['viewer']);
    expect(await code(service.admin('DELETE', `${people()}/${stranger.id}`))).toBe('404 NOT_FOUND');
  });

  it('get keys, which are listed without the raw key', async () => {
    const { id } = await service.newPerson(orgId, ['viewer']);
    const made = (await service.admin('POST', `${people()}/${id}/keys`, { label: 'second' })).json as Made;
    expect(Object.keys(made)).toEqual(['id', 'rawKey', 'label', 'keyPrefix', 'createdAt']);
    const { items } = (await service.admin('GET', `${people()}/${id}/keys?limit=1`)).json as { items: Made[] };
    expect(items).toEqual([expect.objectContaining({ id: made.id, label: 'second', revokedAt: null })]);
    expect(JSON.stringify(items)).not.toContain(String(made['rawKey']));
  });
});

describe('frameworks', () => {
  const path = () => `/orgs/${orgId}/frameworks`;
  const body = {
    name: 'ISO 27001',
    version: '2022',
    requirements: [
      { id: 'A.5.1', title: 'Policies' },
      { id: 'A.5.2', title: 'Roles' },
    ],
  };

  it('are unique by name and version; partners list their requirements in order', async () => {
    const made = await service.admin('POST', path(), body);
    expect(made.json).toEqual({ id: expect.stringMatching(/^fwk_/), ...body, createdAt: expect.any(String) });
    expect(await code(service.admin('POST', path(), body))).toBe('409 ALREADY_EXISTS');
    expect(await code(service.admin('POST', path(), { ...body, version: '2025' }))).toBe('201');
    const { id } = made.json as Made;
    expect((await service.admin('GET', `${path()}/${id}`)).json).toEqual(made.json);
    const partner = await service.newPerson(orgId, ['partner_read']);
    const coverage = await service.api.get(`/api/v1/coverage?framework=${id}`, partner.key);
    const { items } = coverage.json as { items: Made[] };
    expect(items.map(({ requirementId }) => requirementId)).toEqual(['A.5.1', 'A.5.2']);
    const shown = await service.api.get(`/api/v1/frameworks/${id}`, partner.key);
    expect(shown.json).toMatchObject({ item: { id, name: 'ISO 27001', version: '2022', requirementCount: 2 } });
  });

  it('refuse duplicate requirements and personal data', async () => {
    const twice = { ...body, name: 'x', requirements: [...body.requirements, body.requirements[0]] };
    const answer = await service.admin('POST', path(), twice);
    expect(answer.json).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '/requirements/2/id' }] });
    expect(await code(service.admin('POST', path(), { ...body, name: 'By a@b.org' }))).toBe(
      '422 PERSONAL_DATA_REFUSED',
    );
    expect(await code(service.admin('POST', path(), { ...body, requirements: [] }))).toBe('400 INVALID_REQUEST');
  });
});

describe('every change of an administrator', () => {
  it('is in the audit of the organisation, with the token that made it', async () => {
    const org = await service.newOrg();
    const owner = await service.newPerson(org, ['owner']);
    await service.newFramework(org, ['a']);
    await service.admin('PUT', `/orgs/${org}/people/${owner.id}/scope`, {
      departments: [],
      canReadSensitive: false,
      unrestricted: true,
    });
    const events = (await service.api.get('/api/audit', owner.key)).json as Made[];
    expect(events.map(({ action }) => action)).toEqual([
      'member.scope',
      'framework.create',
      'apiKey.mint',
      'member.create',
      'org.create',
    ]);
    expect(new Set(events.map(({ actorId }) => actorId)).size).toBe(1);
    expect(events[0]!['actorId']).toMatch(/^admin:[0-9a-f]{8}$/);
  });
});
