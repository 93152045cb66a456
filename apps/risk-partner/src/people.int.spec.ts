import { request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testIssuer, type TestIssuer } from '@sealgate/testing';
import type { Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const AUDIENCE = 'https://risk.example.com';
const DAY_MS = 86_400_000;
const NOTHING = { departments: [], canReadSensitive: false, unrestricted: false };

let provider: TestIssuer;
let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
let auditor: TestPerson;

beforeAll(async () => {
  provider = await testIssuer({ audience: AUDIENCE, now: () => Date.now() + (service?.skewMs ?? 0) });
  service = await testInstallation({
    PUBLIC_URL: 'https://risk.example.com',
    CONSOLE_URL: 'https://console.example.com',
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { api: [AUDIENCE] } }]),
  });
}, 120_000);
afterAll(async () => {
  await service.stop();
  await provider.stop();
});
beforeEach(async () => {
  orgId = await service.newOrg('Acme');
  [owner, admin, auditor] = [
    await service.newPerson(orgId, ['owner']),
    await service.newPerson(orgId, ['admin']),
    await service.newPerson(orgId, ['auditor']),
  ];
});
// The count of failed authentications drains as time goes on; the tests fail often.
afterEach(() => {
  service.skewMs += 120_000;
});

const send = (method: string, path: string, by: TestPerson, body?: unknown) =>
  service.api.send(method, `/api/people${path}`, { key: by.key, ...(body !== undefined && { body }) });
const refusal = (...sent: Parameters<typeof send>) => refusalText(send(...sent));
/** A request whose body arrives in two parts, the second when `finish` is called. */
function slowPost(parts: { readonly first: string; readonly rest: string }, { key }: TestPerson) {
  const length = String(parts.first.length + parts.rest.length);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': length };
  const sent = httpRequest(`${service.url}/api/people/invitations`, { method: 'POST', headers });
  const answer = new Promise<number | undefined>((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
  sent.write(parts.first);
  return { answer, finish: () => void sent.end(parts.rest) };
}
const read = async (path: string, by = owner) => (await send('GET', path, by)).json as Made;
const invite = async (body: object, by = owner) => (await send('POST', '/invitations', by, body)).json as Made;
let people = 0;
const address = () => `person${(people += 1)}@example.com`;
/** Asks who they are, as somebody with a verified address. */
const signIn = async (email: string, claims: object = {}) => {
  const token = await provider.token({ sub: `sub of ${email}`, email, email_verified: true, ...claims });
  const answer = await service.api.get('/api/whoami', token);
  return { token, status: answer.status, json: answer.json as Made };
};
const actions = async () =>
  ((await service.api.get('/api/audit?limit=200', owner.key)).json as Made[]).map(
    ({ action, actorId, resourceId }) => [action, actorId, resourceId] as const,
  );

describe('a member', () => {
  it('is read as in the list', async () => {
    const viewer = await service.newPerson(orgId, ['viewer'], { name: 'Vera', scope: { departments: ['ops'] } });
    const shown = {
      id: viewer.id,
      name: 'Vera',
      kind: 'human',
      roles: ['viewer'],
      scope: { ...NOTHING, departments: ['ops'] },
    };
    expect(await read(`/${viewer.id}`, auditor)).toEqual(shown);
    expect(await read('')).toEqual(expect.arrayContaining([shown]));
  });

  it('gets roles and scope, which act on the next request, with audit events', async () => {
    const viewer = await service.newPerson(orgId, ['viewer'], { name: 'Vera' });
    const roles = await send('PUT', `/${viewer.id}/roles`, admin, { roles: ['viewer', 'contributor'] });
    expect([roles.status, roles.json]).toEqual([
      200,
      { id: viewer.id, name: 'Vera', kind: 'human', roles: ['contributor', 'viewer'], scope: NOTHING },
    ]);
    const scope = { departments: ['ops'], canReadSensitive: true, unrestricted: false };
    expect((await send('PUT', `/${viewer.id}/scope`, owner, scope)).json).toMatchObject({ scope });
    const who = (await service.api.get('/api/whoami', viewer.key)).json;
    expect(who).toMatchObject({ roles: ['contributor', 'viewer'], scope });
    // What is left out is removed.
    expect((await send('PUT', `/${viewer.id}/scope`, owner, {})).json).toMatchObject({ scope: NOTHING });
    expect((await actions()).slice(0, 3)).toEqual([
      ['member.scope', owner.id, viewer.id],
      ['member.scope', owner.id, viewer.id],
      ['member.roles', admin.id, viewer.id],
    ]);
  });

  it('is refused from the next request on once removed', async () => {
    const viewer = await service.newPerson(orgId, ['viewer']);
    const answer = await send('DELETE', `/${viewer.id}`, owner);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await service.api.get('/api/whoami', viewer.key)).status).toBe(401);
    expect((await actions())[0]).toEqual(['member.delete', owner.id, viewer.id]);
  });

  it('of another organisation, one who was removed and an unknown one are the same 404', async () => {
    const [removed, stranger] = [
      await service.newPerson(orgId, ['viewer']),
      await service.newPerson(await service.newOrg('Globex'), ['viewer']),
    ];
    await send('DELETE', `/${removed.id}`, owner);
    const requests = [
      ['GET', '', undefined],
      ['PUT', '/roles', { roles: ['viewer'] }],
      ['PUT', '/scope', {}],
      ['DELETE', '', undefined],
    ] as const;
    for (const [method, end, body] of requests) {
      const answers = [removed.id, stranger.id, 'per_none'].map(async (id) => {
        const answer = await service.api.send(method, `/api/people/${id}${end}`, {
          key: owner.key,
          headers: { 'x-request-id': 'same' },
          ...(body && { body }),
        });
        return `${answer.status} ${answer.text}`;
      });
      const texts = new Set(await Promise.all(answers));
      expect({ method, count: texts.size, is404: [...texts][0]!.startsWith('404 ') }).toMatchObject({
        count: 1,
        is404: true,
      });
    }
    expect((await service.api.get('/api/whoami', stranger.key)).status).toBe(200);
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
    expect(await refusal('PUT', `/${auditor.id}/${what}`, owner, body)).toMatch(/^400 INVALID_REQUEST/);
  });

  it.each(['?name=x', '/x?limit=1'])('refuses the query of %s', async (path) => {
    expect(await refusal('GET', path, owner)).toMatch(/^400 UNKNOWN_PARAMETER/);
  });
});

describe('nobody grants more than they have', () => {
  it('an administrator neither makes owners nor touches them', async () => {
    const viewer = await service.newPerson(orgId, ['viewer']);
    for (const [path, body] of [
      [`/${viewer.id}/roles`, { roles: ['owner'] }],
      [`/${viewer.id}/roles`, { roles: ['viewer', 'owner'] }],
      [`/${owner.id}/roles`, { roles: ['viewer'] }],
      [`/${owner.id}/roles`, { roles: ['owner'] }],
      [`/${owner.id}/scope`, {}],
    ] as const)
      expect(await refusal('PUT', path, admin, body)).toBe('403 FORBIDDEN');
    expect(await refusal('POST', '/invitations', admin, { email: address(), roles: ['owner'] })).toBe('403 FORBIDDEN');
    expect(await refusal('DELETE', `/${viewer.id}`, admin)).toBe('403 FORBIDDEN');
    expect(await read(`/${owner.id}`)).toMatchObject({ roles: ['owner'], scope: NOTHING });
    expect((await send('PUT', `/${viewer.id}/roles`, owner, { roles: ['owner'] })).status).toBe(200);
  });

  it('owners and administrators may make partners, who read no more than they do', async () => {
    const machine = await service.newPerson(orgId, ['partner_read']);
    expect((await send('PUT', `/${machine.id}/roles`, admin, { roles: [] })).status).toBe(200);
    expect((await send('PUT', `/${machine.id}/roles`, owner, { roles: ['partner_read'] })).status).toBe(200);
  });

  it('nobody raises themselves, also not by a scope that outlasts their roles', async () => {
    const both = await service.newPerson(orgId, ['admin', 'viewer'], { scope: { departments: ['ops', 'it'] } });
    const own = (what: string, body: object) => refusal('PUT', `/${both.id}/${what}`, both, body);
    expect(await own('roles', { roles: ['owner', 'admin'] })).toBe('403 FORBIDDEN');
    expect(await own('roles', { roles: ['admin', 'risk_manager'] })).toBe('403 FORBIDDEN');
    expect(await own('scope', { unrestricted: true })).toBe('403 FORBIDDEN');
    expect(await own('scope', { canReadSensitive: true })).toBe('403 FORBIDDEN');
    expect(await own('scope', { departments: ['ops', 'hr'] })).toBe('403 FORBIDDEN');
    expect((await send('PUT', `/${both.id}/scope`, both, { departments: ['it'] })).status).toBe(200);
    expect((await send('PUT', `/${both.id}/roles`, both, { roles: ['viewer'] })).status).toBe(200);
    expect(await own('roles', { roles: ['admin'] })).toBe('403 FORBIDDEN');
  });

  it('a request that began before its sender lost the rights is refused when it arrives', async () => {
    const body = JSON.stringify({ email: address(), roles: ['admin'] });
    const half = { first: body.slice(0, 10), rest: body.slice(10) };
    const { answer, finish } = slowPost(half, admin);
    await send('PUT', `/${admin.id}/roles`, owner, { roles: ['viewer'] });
    finish();
    expect(await answer).toBe(403);
    expect(await read('/invitations')).toEqual([]);
  });
});

describe('the last owner', () => {
  it('is neither removed nor loses the role', async () => {
    expect(await refusal('DELETE', `/${owner.id}`, owner)).toBe('409 IN_USE');
    expect(await refusal('PUT', `/${owner.id}/roles`, owner, { roles: [] })).toBe('409 IN_USE');
    expect((await send('PUT', `/${owner.id}/roles`, owner, { roles: ['owner'] })).status).toBe(200);
    // Somebody invited as an owner who never came is none.
    await invite({ email: address(), roles: ['owner'] });
    expect(await refusal('DELETE', `/${owner.id}`, owner)).toBe('409 IN_USE');
    await service.newPerson(orgId, ['owner']);
    expect((await send('DELETE', `/${owner.id}`, owner)).status).toBe(204);
  });

  it.each([
    ['remove each other', 'DELETE', '', undefined],
    ['demote each other', 'PUT', '/roles', { roles: ['viewer'] }],
  ])('is kept if two owners %s at once', async (_what, method, end, body) => {
    const second = await service.newPerson(orgId, ['owner']);
    const both = await Promise.all([
      refusal(method, `/${second.id}${end}`, owner, body),
      refusal(method, `/${owner.id}${end}`, second, body),
    ]);
    expect(both.filter((text) => text.startsWith('20'))).toHaveLength(1);
    // The other one lost the race before it was authenticated, or met the lock.
    expect(both.filter((text) => /^(409 IN_USE|401 UNAUTHENTICATED|403 FORBIDDEN)$/.test(text))).toHaveLength(1);
    const listed = (await service.admin('GET', `/orgs/${orgId}/people`)).json as { items: Made[] };
    expect(listed.items.filter(({ roles }) => (roles as string[]).includes('owner'))).toHaveLength(1);
  });

  it('is kept if one removes two owners at once, and themselves', async () => {
    const second = await service.newPerson(orgId, ['owner']);
    const both = await Promise.all([owner, second].map(({ id }) => refusal('DELETE', `/${id}`, owner)));
    expect(both.filter((text) => text.startsWith('204'))).toHaveLength(1);
  });
});

describe('an invitation', () => {
  it('is made, read, listed by pages, and deleted', async () => {
    const email = address();
    const body = { email: email.toUpperCase(), roles: ['viewer'], scope: { departments: ['ops'] } };
    const made = await send('POST', '/invitations', owner, body);
    const { id, link, expiresAt } = made.json as Made;
    expect(made.status).toBe(201);
    expect(Object.keys(made.json as Made)).toEqual(['id', 'link', 'expiresAt']);
    expect(made.headers.location).toBe(`/api/people/invitations/${id}`);
    expect(link).toBe(`https://console.example.com/?invitation=${id}`);
    const shown = {
      id,
      email,
      roles: ['viewer'],
      scope: { ...NOTHING, departments: ['ops'] },
      invitedBy: owner.id,
      createdAt: new Date(Date.parse(String(expiresAt)) - 14 * DAY_MS).toISOString(),
      expiresAt,
      link,
    };
    expect(await read(`/invitations/${id}`, auditor)).toEqual(shown);
    const second = await invite({ email: address() }, admin);
    const first = await send('GET', '/invitations?limit=1', admin);
    expect(first.json).toEqual([shown]);
    const next = /<\/api\/people([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!;
    expect(await read(next, admin)).toMatchObject([{ id: second.id, roles: [], scope: NOTHING }]);
    expect(await refusal('DELETE', `/invitations/${id}`, admin)).toBe('403 FORBIDDEN');
    expect((await send('DELETE', `/invitations/${id}`, owner)).status).toBe(204);
    expect(await refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect(await refusal('GET', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await signIn(email)).status).toBe(401);
    expect((await actions()).slice(0, 3)).toEqual([
      ['invitation.delete', owner.id, id],
      ['invitation.create', admin.id, second.id],
      ['invitation.create', owner.id, id],
    ]);
  });

  it('makes a person at the first sign-in with the verified address, once', async () => {
    const email = address();
    const scope = { departments: ['ops'], canReadSensitive: false, unrestricted: false };
    const { id } = await invite({ email, roles: ['contributor'], scope });
    expect(await read('')).toHaveLength(3);
    for (const claims of [{ email_verified: false }, { email_verified: undefined }, { email: address() }])
      expect((await signIn(email, { sub: 'thief', ...claims })).status).toBe(401);
    const both = await Promise.all(['erin', 'mallory'].map((sub) => signIn(email, { sub })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const { json, token } = both.find(({ status }) => status === 200)!;
    expect(json).toMatchObject({ orgId, roles: ['contributor'], scope, via: 'token' });
    const personId = String(json['personId']);
    expect(await read(`/${personId}`)).toEqual({
      id: personId,
      name: email,
      kind: 'human',
      roles: ['contributor'],
      scope,
    });
    expect(await read('/invitations')).toEqual([]);
    expect(await refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await actions()).slice(0, 3)).toEqual([
      ['member.create', personId, personId],
      ['invitation.accept', personId, id],
      ['invitation.create', owner.id, id],
    ]);
    // By their identity from now on, whatever the address.
    const later = await provider.token({ sub: both[0]!.status === 200 ? 'erin' : 'mallory' });
    expect((await service.api.get('/api/whoami', later)).json).toMatchObject({ personId });
    const identities = await service.admin('GET', `/orgs/${orgId}/people/${personId}/identities`);
    expect(identities.json).toMatchObject({ items: [{ issuer: provider.issuer, email, expiresAt: null }] });
    await send('DELETE', `/${personId}`, owner);
    expect((await service.api.get('/api/whoami', token)).status).toBe(401);
  });

  it('may come again after a removal, as another person', async () => {
    const email = address();
    await invite({ email, roles: ['viewer'] });
    const first = String((await signIn(email)).json['personId']);
    expect(await refusal('POST', '/invitations', owner, { email })).toBe('409 ALREADY_EXISTS');
    await send('DELETE', `/${first}`, owner);
    await invite({ email, roles: ['auditor'] });
    const again = await signIn(email);
    expect(again.json).toMatchObject({ roles: ['auditor'] });
    expect(again.json['personId']).not.toBe(first);
  });

  it('waits fourteen days', async () => {
    const email = address();
    const { id } = await invite({ email, roles: ['viewer'] });
    service.skewMs += 14 * DAY_MS + 1000;
    expect((await signIn(email)).status).toBe(401);
    expect(await read('/invitations')).toEqual([]);
    expect(await refusal('GET', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect(await refusal('DELETE', `/invitations/${id}`, owner)).toBe('404 NOT_FOUND');
    expect((await invite({ email, roles: ['viewer'] })).id).not.toBe(id);
    expect((await signIn(email)).status).toBe(200);
  });

  it('of one address waits once in an organisation, also under concurrency', async () => {
    const email = address();
    const tries = Array.from({ length: 4 }, () => refusal('POST', '/invitations', owner, { email }));
    expect((await Promise.all(tries)).sort()).toEqual(['201 ', ...Array<string>(3).fill('409 ALREADY_EXISTS')]);
    expect(await refusal('POST', '/invitations', admin, { email: email.toUpperCase() })).toBe('409 ALREADY_EXISTS');
    const elsewhere = await service.newPerson(await service.newOrg('Globex'), ['owner']);
    expect((await send('POST', '/invitations', elsewhere, { email })).status).toBe(201);
    // One sign-in accepts both.
    expect(await refusalText(signIn(email))).toBe('400 INVALID_HEADER /X-Organization');
    const { token } = await signIn(email);
    expect((await service.api.get('/api/organizations', token)).json).toHaveLength(2);
  });

  it('of an address that an operator invited is refused', async () => {
    const [email, viewer] = [address(), await service.newPerson(orgId, ['viewer'])];
    await service.admin('POST', `/orgs/${orgId}/people/${viewer.id}/identities`, { email });
    expect(await refusal('POST', '/invitations', owner, { email })).toBe('409 ALREADY_EXISTS');
    expect((await signIn(email)).json).toMatchObject({ personId: viewer.id });
  });

  it('does not make an identity a second person of an organisation', async () => {
    const [email, viewer] = [address(), await service.newPerson(orgId, ['viewer'])];
    const subject = `sub of ${email}`;
    await service.admin('POST', `/orgs/${orgId}/people/${viewer.id}/identities`, { issuer: provider.issuer, subject });
    await invite({ email, roles: ['admin'] });
    expect((await signIn(email)).json).toMatchObject({ personId: viewer.id, roles: ['viewer'] });
    expect(await read('/invitations')).toHaveLength(1);
    expect(await read('')).toHaveLength(4);
  });

  it.each(['removed', 'demoted', 'demoted by an operator'])(
    'ends when its maker is %s, unless they could still make it',
    async (how) => {
      const second = await service.newPerson(orgId, ['owner']);
      const [asOwner, asViewer, others] = [
        await invite({ email: address(), roles: ['owner'] }, second),
        await invite({ email: address(), roles: ['viewer'] }, second),
        await invite({ email: address(), roles: ['owner'] }),
      ];
      if (how === 'removed') await send('DELETE', `/${second.id}`, owner);
      else if (how === 'demoted') await send('PUT', `/${second.id}/roles`, owner, { roles: ['admin'] });
      else await service.admin('PUT', `/orgs/${orgId}/people/${second.id}/roles`, { roles: ['admin'] });
      const left = ((await read('/invitations')) as unknown as Made[]).map(({ id }) => id);
      expect(left).toEqual(how === 'removed' ? [others.id] : [asViewer.id, others.id]);
      expect((await actions()).filter(([action]) => action === 'invitation.delete')).toContainEqual([
        'invitation.delete',
        how === 'demoted by an operator' ? expect.stringMatching(/^admin:/) : owner.id,
        asOwner.id,
      ]);
    },
  );

  it('are at most a thousand in an organisation', async () => {
    const text = `INSERT INTO risk.invitations (invitation_id, org_id, email, roles, departments, unrestricted,
        can_read_sensitive, invited_by, created_at, expires_at)
      SELECT 'inv_' || n || $1, $1, n || '@limit.example', '{}', '{}', false, false, $2, $3, $4 FROM generate_series(1, 999) n`;
    const nowMs = Date.now() + service.skewMs;
    await service.sql.query({ text, values: [orgId, owner.id, new Date(nowMs), new Date(nowMs + DAY_MS)] });
    await invite({ email: address() });
    expect(await refusal('POST', '/invitations', owner, { email: address() })).toBe('409 LIMIT_REACHED');
  });

  it('of another organisation is the same 404 as an unknown one', async () => {
    const stranger = await service.newPerson(await service.newOrg('Globex'), ['owner']);
    const { id } = await invite({ email: address() });
    for (const method of ['GET', 'DELETE']) {
      const ask = async (one: string) =>
        (
          await service.api.send(method, `/api/people/invitations/${one}`, {
            key: stranger.key,
            headers: { 'x-request-id': 'same' },
          })
        ).text;
      expect(await ask(id)).toBe(await ask('inv_none'));
    }
    expect(await read(`/invitations/${id}`)).toMatchObject({ id });
  });

  it.each([
    [{}],
    [{ roles: ['viewer'] }],
    [{ email: 'no address' }],
    [{ email: 'a@b@c' }],
    [{ email: `${'x'.repeat(250)}@example.com` }],
    [{ email: null }],
    [{ email: 'a@b.example', roles: ['king'] }],
    [{ email: 'a@b.example', scope: { rooms: [] } }],
    [{ email: 'a@b.example', name: 'A' }],
  ])('is refused for %j', async (body) => {
    expect(await refusal('POST', '/invitations', owner, body)).toMatch(/^400 INVALID_REQUEST/);
  });
});
