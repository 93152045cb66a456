import { request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Made } from './testing/demo-rows.ts';
import { NO_SCOPE, peopleSite } from './testing/people-site.ts';
import type { TestPerson } from './testing/test-installation.ts';

let site: Awaited<ReturnType<typeof peopleSite>>;
let members: Awaited<ReturnType<(typeof site)['newMembers']>>;
let owner: TestPerson;
let admin: TestPerson;
let auditor: TestPerson;

beforeAll(async () => {
  site = await peopleSite();
}, 120_000);
afterAll(() => site.stop());
beforeEach(async () => {
  members = await site.newMembers();
  ({ owner, admin, auditor } = members);
});
// The count of failed authentications drains as time goes on; the tests fail often.
afterEach(() => {
  site.service.skewMs += 120_000;
});

/** A request whose body arrives in two parts, the second when `finish` is called. */
function slowPost(parts: { readonly first: string; readonly rest: string }, { key }: TestPerson) {
  const length = String(parts.first.length + parts.rest.length);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': length };
  const sent = httpRequest(`${site.service.url}/api/people/invitations`, { method: 'POST', headers });
  const answer = new Promise<number | undefined>((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
  sent.write(parts.first);
  return { answer, finish: () => void sent.end(parts.rest) };
}

describe('a member', () => {
  it('is read as in the list', async () => {
    const viewer = await site.service.newPerson(members.orgId, ['viewer'], {
      name: 'Vera',
      scope: { departments: ['ops'] },
    });
    const shown = {
      id: viewer.id,
      name: 'Vera',
      kind: 'human',
      roles: ['viewer'],
      scope: { ...NO_SCOPE, departments: ['ops'] },
    };
    expect(await site.read(`/${viewer.id}`, auditor)).toEqual(shown);
    expect(await site.read('', owner)).toEqual(expect.arrayContaining([{ ...shown, lastSeenAt: null }]));
  });

  it('was seen by their newest request, which is written afterwards, and told to those who may change members', async () => {
    const viewer = await site.service.newPerson(members.orgId, ['viewer'], { name: 'Vera' });
    const seenBy = async (person: TestPerson) =>
      ((await site.read(`/${viewer.id}`, person)) as { lastSeenAt?: string | null }).lastSeenAt;
    expect(await seenBy(admin)).toBeNull();
    const before = Date.now() + site.service.skewMs;
    expect((await site.service.api.get('/api/whoami', viewer.key)).status).toBe(200);
    await until(async () => (await seenBy(admin)) !== null, { what: 'a last request', timeoutMs: 10_000 });
    const at = (await seenBy(owner))!;
    expect(Math.abs(Date.parse(at) - before)).toBeLessThan(10_000);
    const listed = (await site.read('', owner)) as unknown as { id: string; lastSeenAt: string }[];
    expect(listed.find(({ id }) => id === viewer.id)?.lastSeenAt).toBe(at);
    const file = await site.service.api.get('/api/people/export?format=csv', owner.key);
    expect(file.text).toContain(at);
    // Auditors read members, and not when they were here.
    expect(await seenBy(auditor)).toBeUndefined();
    expect((await site.service.api.get('/api/people/export?format=csv', auditor.key)).text).not.toContain(at);
    // Within a minute it stays as it is.
    await site.service.api.get('/api/whoami', viewer.key);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await seenBy(owner)).toBe(at);
  });

  it('gets roles and scope, which act on the next request, with audit events', async () => {
    const viewer = await site.service.newPerson(members.orgId, ['viewer'], { name: 'Vera' });
    const roles = await site.send('PUT', `/${viewer.id}/roles`, admin, { roles: ['viewer', 'contributor'] });
    expect([roles.status, roles.json]).toEqual([
      200,
      { id: viewer.id, name: 'Vera', kind: 'human', roles: ['contributor', 'viewer'], scope: NO_SCOPE },
    ]);
    const scope = { departments: ['ops'], canReadSensitive: true, unrestricted: false };
    expect((await site.send('PUT', `/${viewer.id}/scope`, owner, scope)).json).toMatchObject({ scope });
    const who = (await site.service.api.get('/api/whoami', viewer.key)).json;
    expect(who).toMatchObject({ roles: ['contributor', 'viewer'], scope });
    // What is left out is removed.
    expect((await site.send('PUT', `/${viewer.id}/scope`, owner, {})).json).toMatchObject({ scope: NO_SCOPE });
    expect((await site.actions(owner)).slice(0, 3)).toEqual([
      ['member.scope', owner.id, viewer.id],
      ['member.scope', owner.id, viewer.id],
      ['member.roles', admin.id, viewer.id],
    ]);
  });

  it('is refused from the next request on once removed', async () => {
    const viewer = await site.service.newPerson(members.orgId, ['viewer']);
    const answer = await site.send('DELETE', `/${viewer.id}`, owner);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await site.service.api.get('/api/whoami', viewer.key)).status).toBe(401);
    expect((await site.actions(owner))[0]).toEqual(['member.delete', owner.id, viewer.id]);
  });

  it('of another organisation, one who was removed and an unknown one are the same 404', async () => {
    const [removed, stranger] = [
      await site.service.newPerson(members.orgId, ['viewer']),
      await site.service.newPerson(await site.service.newOrg('Globex'), ['viewer']),
    ];
    await site.send('DELETE', `/${removed.id}`, owner);
    const requests = [
      ['GET', '', undefined],
      ['PUT', '/roles', { roles: ['viewer'] }],
      ['PUT', '/scope', {}],
      ['DELETE', '', undefined],
    ] as const;
    for (const [method, end, body] of requests) {
      const ids = [removed.id, stranger.id, 'per_none'];
      const [first, ...others] = await Promise.all(ids.map((id) => site.same(method, `/${id}${end}`, owner, body)));
      expect(first).toMatch(/^404 .*"NOT_FOUND"/);
      expect(others).toEqual([first, first]);
    }
    expect((await site.service.api.get('/api/whoami', stranger.key)).status).toBe(200);
  });

  it.each([
    ['roles', {}],
    ['roles', { roles: ['king'] }],
    ['roles', { roles: ['viewer', 'viewer'] }],
    ['roles', { roles: [], scope: {} }],
    ['roles', { roles: null }],
    ['scope', { rooms: [] }],
    ['scope', { departments: 'ops' }],
    ['scope', { unrestricted: 'yes' }],
  ])('refuses as %s %j', async (what, body) => {
    expect(await site.refusal('PUT', `/${auditor.id}/${what}`, owner, body)).toMatch(/^400 INVALID_REQUEST/);
  });

  it.each(['?name=x', '/x?limit=1'])('refuses the query of %s', async (path) => {
    expect(await site.refusal('GET', path, owner)).toMatch(/^400 UNKNOWN_PARAMETER/);
  });
});

describe('nobody grants more than they have', () => {
  it('an administrator neither makes owners nor touches them', async () => {
    const viewer = await site.service.newPerson(members.orgId, ['viewer']);
    for (const [path, body] of [
      [`/${viewer.id}/roles`, { roles: ['owner'] }],
      [`/${viewer.id}/roles`, { roles: ['viewer', 'owner'] }],
      [`/${owner.id}/roles`, { roles: ['viewer'] }],
      [`/${owner.id}/roles`, { roles: ['owner'] }],
      [`/${owner.id}/scope`, {}],
    ] as const)
      expect(await site.refusal('PUT', path, admin, body)).toBe('403 FORBIDDEN');
    expect(await site.refusal('POST', '/invitations', admin, { email: site.address(), roles: ['owner'] })).toBe(
      '403 FORBIDDEN',
    );
    expect(await site.refusal('DELETE', `/${viewer.id}`, admin)).toBe('403 FORBIDDEN');
    expect(await site.read(`/${owner.id}`, owner)).toMatchObject({ roles: ['owner'], scope: NO_SCOPE });
    expect((await site.send('PUT', `/${viewer.id}/roles`, owner, { roles: ['owner'] })).status).toBe(200);
  });

  it('owners and administrators may make partners, who read no more than they do', async () => {
    const machine = await site.service.newPerson(members.orgId, ['partner_read']);
    expect((await site.send('PUT', `/${machine.id}/roles`, admin, { roles: [] })).status).toBe(200);
    expect((await site.send('PUT', `/${machine.id}/roles`, owner, { roles: ['partner_read'] })).status).toBe(200);
  });

  it('nobody raises themselves, also not by a scope that outlasts their roles', async () => {
    const both = await site.service.newPerson(members.orgId, ['admin', 'viewer'], {
      scope: { departments: ['ops', 'it'] },
    });
    const own = (what: string, body: object) => site.refusal('PUT', `/${both.id}/${what}`, both, body);
    expect(await own('roles', { roles: ['owner', 'admin'] })).toBe('403 FORBIDDEN');
    expect(await own('roles', { roles: ['admin', 'risk_manager'] })).toBe('403 FORBIDDEN');
    expect(await own('scope', { unrestricted: true })).toBe('403 FORBIDDEN');
    expect(await own('scope', { canReadSensitive: true })).toBe('403 FORBIDDEN');
    expect(await own('scope', { departments: ['ops', 'hr'] })).toBe('403 FORBIDDEN');
    expect((await site.send('PUT', `/${both.id}/scope`, both, { departments: ['it'] })).status).toBe(200);
    expect((await site.send('PUT', `/${both.id}/roles`, both, { roles: ['viewer'] })).status).toBe(200);
    expect(await own('roles', { roles: ['admin'] })).toBe('403 FORBIDDEN');
  });

  it('a request that began before its sender lost the rights is refused when it arrives', async () => {
    const body = JSON.stringify({ email: site.address(), roles: ['admin'] });
    const half = { first: body.slice(0, 10), rest: body.slice(10) };
    const { answer, finish } = slowPost(half, admin);
    await site.send('PUT', `/${admin.id}/roles`, owner, { roles: ['viewer'] });
    finish();
    expect(await answer).toBe(403);
    expect(await site.read('/invitations', owner)).toEqual([]);
  });
});

describe('the last owner', () => {
  it('is neither removed nor loses the role', async () => {
    expect(await site.refusal('DELETE', `/${owner.id}`, owner)).toBe('409 IN_USE');
    expect(await site.refusal('PUT', `/${owner.id}/roles`, owner, { roles: [] })).toBe('409 IN_USE');
    expect((await site.send('PUT', `/${owner.id}/roles`, owner, { roles: ['owner'] })).status).toBe(200);
    // Somebody invited as an owner who never came is none.
    await site.invite({ email: site.address(), roles: ['owner'] }, owner);
    expect(await site.refusal('DELETE', `/${owner.id}`, owner)).toBe('409 IN_USE');
    await site.service.newPerson(members.orgId, ['owner']);
    expect((await site.send('DELETE', `/${owner.id}`, owner)).status).toBe(204);
  });

  it.each([
    ['remove each other', 'DELETE', '', undefined],
    ['demote each other', 'PUT', '/roles', { roles: ['viewer'] }],
  ])('is kept if two owners %s at once', async (_what, method, end, body) => {
    const second = await site.service.newPerson(members.orgId, ['owner']);
    const both = await Promise.all([
      site.refusal(method, `/${second.id}${end}`, owner, body),
      site.refusal(method, `/${owner.id}${end}`, second, body),
    ]);
    expect(both.filter((text) => text.startsWith('20'))).toHaveLength(1);
    // The other one lost the race before it was authenticated, or met the lock.
    expect(both.filter((text) => /^(409 IN_USE|401 UNAUTHENTICATED|403 FORBIDDEN)$/.test(text))).toHaveLength(1);
    const listed = (await site.service.admin('GET', `/orgs/${members.orgId}/people`)).json as { items: Made[] };
    expect(listed.items.filter(({ roles }) => (roles as string[]).includes('owner'))).toHaveLength(1);
  });

  it('is kept if one removes two owners at once, and themselves', async () => {
    const second = await site.service.newPerson(members.orgId, ['owner']);
    const both = await Promise.all([owner, second].map(({ id }) => site.refusal('DELETE', `/${id}`, owner)));
    expect(both.filter((text) => text.startsWith('204'))).toHaveLength(1);
  });
});
