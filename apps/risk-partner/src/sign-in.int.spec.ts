import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, testIssuer, type TestIssuer } from '@sealgate/testing';
import type { Answer } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation } from './testing/test-installation.ts';

const PUBLIC_URL = 'https://risk.example.com';
const AUDIENCE = 'https://risk.example.com';
const ADMIN_AUDIENCE = 'https://risk.example.com/admin';
/** Its people are known by another claim than `sub`. */
let byOid: TestIssuer;
let provider: TestIssuer;
let risk: TestInstallation;
let acme: string;
let globex: string;

beforeAll(async () => {
  const now = () => Date.now() + (risk?.skewMs ?? 0);
  provider = await testIssuer({ audience: AUDIENCE, now });
  byOid = await testIssuer({ audience: AUDIENCE, now });
  risk = await testInstallation({
    PUBLIC_URL,
    OIDC_ISSUERS: JSON.stringify([
      {
        issuer: provider.issuer,
        audience: { api: [AUDIENCE], admin: [ADMIN_AUDIENCE] },
        scopes: { mcp: ['api://risk/tools'] },
      },
      { issuer: byOid.issuer, audience: { api: [AUDIENCE] }, identityClaim: 'oid' },
    ]),
    ADMIN_OIDC: JSON.stringify([
      { claim: 'groups', value: 'operators', role: 'operator' },
      { claim: 'groups', value: 'lookers', role: 'viewer' },
    ]),
  });
  acme = await risk.newOrg('Acme');
  globex = await risk.newOrg('Globex');
}, 120_000);
afterAll(async () => {
  await risk.stop();
  await provider.stop();
  await byOid.stop();
});
// The count of failed authentications drains as time goes on, never while it goes back; the tests fail often.
afterEach(() => {
  risk.skewMs += 120_000;
});

const expectRefused = (
  answer: Answer,
  ...expected: Parameters<typeof expectProblem> extends [unknown, ...infer Rest] ? Rest : never
) => expectProblem({ ...answer, body: answer.json }, ...expected);

let people = 0;
const newPerson = async (orgId: string, roles: readonly string[]) =>
  (await risk.newPerson(orgId, roles, { name: `Person ${(people += 1)}` })).id;
const identities = (orgId: string, personId: string) => `/orgs/${orgId}/people/${personId}/identities`;
const link = async (orgId: string, personId: string, subject: string): Promise<string> => {
  const answer = await risk.admin('POST', identities(orgId, personId), { issuer: provider.issuer, subject });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
};
const invite = async (orgId: string, personId: string, email: string) =>
  (await risk.admin('POST', identities(orgId, personId), { email })).json as { id: string; expiresAt: string };
const adminToken = (claims: object) => provider.token({ aud: ADMIN_AUDIENCE, ...claims });
const whoami = async (token: string, headers: Record<string, string> = {}) =>
  risk.api.send('GET', '/api/whoami', { key: token, headers });

describe('a person who signs in', () => {
  it('is the person linked to the identity, with their roles and rows, and may mint keys', async () => {
    const person = await newPerson(acme, ['risk_manager']);
    await link(acme, person, 'alice');
    const token = await provider.token({ sub: 'alice', roles: ['owner'] });
    const answer = await whoami(token);
    expect(answer.status).toBe(200);
    const organizations = [{ id: acme, name: 'Acme' }];
    const roles = ['risk_manager'];
    expect(answer.json).toMatchObject({ orgId: acme, personId: person, roles, via: 'token', organizations });
    const minted = await risk.api.send('POST', '/api/api-keys', { key: token, body: { label: 'made signed in' } });
    expect(minted.status).toBe(201);
    const byKey = await whoami((minted.json as { rawKey: string }).rawKey);
    expect(byKey.json).toMatchObject({ personId: person, via: 'key', organizations: [{ id: acme, name: 'Acme' }] });
    const narrow = await risk.api.send('GET', '/api/v1/whoami', { key: token });
    expect(Object.keys(narrow.json as object)).toEqual(['orgId', 'personId', 'roles', 'permissions', 'scope']);
  });

  it('is refused from the next request on after removal of link, role or membership', async () => {
    const person = await newPerson(acme, ['auditor']);
    const id = await link(acme, person, 'bob');
    const token = await provider.token({ sub: 'bob' });
    await risk.admin('PUT', `/orgs/${acme}/people/${person}/roles`, { roles: ['viewer'] });
    expect((await whoami(token)).json).toMatchObject({ roles: ['viewer'] });
    expect((await risk.admin('DELETE', `${identities(acme, person)}/${id}`)).status).toBe(204);
    expectRefused(await whoami(token), 'UNAUTHENTICATED');
    expect((await risk.admin('DELETE', `${identities(acme, person)}/${id}`)).status).toBe(204);
    expect((await risk.admin('DELETE', `${identities(acme, person)}/idn_none`)).status).toBe(404);
    await link(acme, person, 'bob');
    expect((await whoami(token)).status).toBe(200);
    await risk.admin('DELETE', `/orgs/${acme}/people/${person}`);
    expectRefused(await whoami(token), 'UNAUTHENTICATED');
    // The identity can now be linked to somebody else.
    await link(acme, await newPerson(acme, ['viewer']), 'bob');
    expect((await whoami(token)).status).toBe(200);
  });

  it('selects the organisation if there are several', async () => {
    const [atAcme, atGlobex] = [await newPerson(acme, ['viewer']), await newPerson(globex, ['owner'])];
    await link(acme, atAcme, 'carol');
    await link(globex, atGlobex, 'carol');
    const token = await provider.token({ sub: 'carol' });
    expectRefused(await whoami(token), 'INVALID_HEADER', { errors: [{ in: 'header', pointer: '/X-Organization' }] });
    expect((await whoami(token, { 'x-organization': globex })).json).toMatchObject({
      personId: atGlobex,
      orgId: globex,
      organizations: [
        { id: acme, name: 'Acme' },
        { id: globex, name: 'Globex' },
      ],
    });
    expect((await whoami(token, { 'x-organization': acme })).json).toMatchObject({ personId: atAcme });
    expectRefused(await whoami(token, { 'x-organization': 'org_of_others' }), 'UNAUTHENTICATED');
    const all = await risk.api.send('GET', '/api/organizations', { key: token });
    expect(all.json).toMatchObject([
      { id: acme, name: 'Acme', member: { personId: atAcme } },
      { id: globex, name: 'Globex', member: { personId: atGlobex } },
    ]);
    const foreign = { key: token, headers: { 'x-organization': 'org_of_others' } };
    expectRefused(await risk.api.send('GET', '/api/organizations', foreign), 'UNAUTHENTICATED');
  });

  it('is refused without a link', async () => {
    expectRefused(await whoami(await provider.token({ sub: 'nobody' })), 'UNAUTHENTICATED');
    expectRefused(
      await whoami(await provider.token({ sub: 'alice', aud: 'https://gateway.example.com' })),
      'UNAUTHENTICATED',
    );
  });

  it('cannot be two people of an organisation', async () => {
    const [first, second] = [await newPerson(acme, ['viewer']), await newPerson(acme, ['viewer'])];
    await link(acme, first, 'dave');
    for (const person of [first, second]) {
      const again = await risk.admin('POST', identities(acme, person), { issuer: provider.issuer, subject: 'dave' });
      expectRefused(again, 'ALREADY_EXISTS');
    }
  });
});

describe('an invitation by e-mail', () => {
  it('becomes the identity of the first token with that verified address, once', async () => {
    const person = await newPerson(acme, ['viewer']);
    const { id } = await invite(acme, person, 'Erin@Example.com');
    const email = 'erin@example.com';
    for (const claims of [{ email }, { email, email_verified: 'yes' }, { email, email_verified: 1 }])
      expectRefused(await whoami(await provider.token({ sub: 'erin', ...claims })), 'UNAUTHENTICATED');
    const verified = { email: 'erin@EXAMPLE.com', email_verified: 'true' };
    const both = await Promise.all(
      ['erin', 'mallory'].map(async (sub) => (await whoami(await provider.token({ sub, ...verified }))).status),
    );
    expect(both.sort()).toEqual([200, 401]);
    const { items } = (await risk.admin('GET', identities(acme, person))).json as { items: object[] };
    expect(items).toMatchObject([{ id, issuer: provider.issuer, email: 'erin@example.com', expiresAt: null }]);
  });

  it.each([
    ['mike@example.com', 'mi\u212Ae@example.com'], // KELVIN SIGN: Unicode lower case makes it k.
    ['MIKE@example.com', 'mi\u212Ae@EXAMPLE.com'],
    ['jurgen@example.com', 'j\u00FCrgen@example.com'],
    ['stra\u00DFe@example.com', 'STRASSE@example.com'],
  ])('of %s is not taken by %s', async (invited, claimed) => {
    const person = await newPerson(acme, ['owner']);
    await invite(acme, person, invited);
    const token = await provider.token({ sub: `thief of ${claimed}`, email: claimed, email_verified: true });
    expectRefused(await whoami(token), 'UNAUTHENTICATED');
    const folded = invited.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const rightful = await provider.token({ sub: `rightful ${invited}`, email: folded, email_verified: true });
    expect((await whoami(rightful)).json).toMatchObject({ personId: person });
  });

  it.each([
    ['subject', { sub: 'nul\0' }],
    ['e-mail address', { sub: 'nul', email: 'nul\0@example.com', email_verified: true }],
    ['lone surrogate in the e-mail address', { sub: 'nul', email: 'nul\ud800@example.com', email_verified: true }],
  ])('is not asked for by a token with U+0000 or the like: %s', async (_what, claims) => {
    expectRefused(await whoami(await provider.token(claims)), 'UNAUTHENTICATED');
  });

  it('is valid for fourteen days', async () => {
    const person = await newPerson(acme, ['viewer']);
    await invite(acme, person, 'late@example.com');
    risk.skewMs += 14 * 86_400_000 + 1000;
    const claims = { sub: 'late', email: 'late@example.com', email_verified: true };
    expectRefused(await whoami(await provider.token(claims)), 'UNAUTHENTICATED');
    risk.skewMs -= 61_000;
    expect((await whoami(await provider.token(claims))).status).toBe(200);
  });

  it('does not make an identity a second person of an organisation', async () => {
    const [first, second] = [await newPerson(acme, ['viewer']), await newPerson(acme, ['owner'])];
    await link(acme, first, 'frank');
    await invite(acme, second, 'frank@example.com');
    const token = await provider.token({ sub: 'frank', email: 'frank@example.com', email_verified: true });
    expect((await whoami(token)).json).toMatchObject({ personId: first });
  });

  it.each([
    [{}],
    [{ issuer: 'https://x.example' }],
    [{ issuer: 'https://x.example', subject: 's', email: 'a@b.example' }],
    [{ email: 'no address' }],
    [{ email: 'a@b.example', role: 'owner' }],
  ])('or an identity is refused for %j', async (body) => {
    const person = await newPerson(acme, ['viewer']);
    expectRefused(await risk.admin('POST', identities(acme, person), body), 'INVALID_REQUEST');
  });

  it('is listed by pages, only for people of that organisation', async () => {
    const person = await newPerson(acme, ['viewer']);
    for (const name of ['a', 'b', 'c']) await invite(acme, person, `${name}@list.example`);
    const first = (await risk.admin('GET', `${identities(acme, person)}?limit=2`)).json as {
      items: { email: string }[];
      nextCursor: string;
    };
    expect(first.items.map(({ email }) => email)).toEqual(['a@list.example', 'b@list.example']);
    const next = await risk.admin('GET', `${identities(acme, person)}?limit=2&cursor=${first.nextCursor}`);
    expect(next.json).toMatchObject({ items: [{ email: 'c@list.example' }], nextCursor: null });
    for (const method of ['GET', 'POST'])
      expectRefused(
        await risk.admin(method, identities(globex, person), method === 'GET' ? undefined : { email: 'x@y.example' }),
        'NOT_FOUND',
      );
  });
});

describe('an identity by another claim than sub', () => {
  it('is linked by the value of that claim', async () => {
    const person = await newPerson(acme, ['viewer']);
    const linked = await risk.admin('POST', identities(acme, person), { issuer: byOid.issuer, subject: 'oid-1' });
    expect(linked.status).toBe(201);
    const scope = { scope: 'use' };
    expect((await whoami(await byOid.token({ ...scope, sub: 'pairwise', oid: 'oid-1' }))).json).toMatchObject({
      personId: person,
    });
    for (const claims of [{ sub: 'oid-1' }, { sub: 'oid-1', oid: 'oid-2' }, { sub: 'pairwise', oid: 1 }])
      expectRefused(await whoami(await byOid.token({ ...scope, ...claims })), 'UNAUTHENTICATED');
  });
});

describe('the tools', () => {
  const call = (token: string | undefined) =>
    risk.api.send('POST', '/mcp', {
      ...(token === undefined ? {} : { key: token }),
      headers: { accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } },
    });

  it('accept only tokens for their own URL, and tell where to get one', async () => {
    const person = await newPerson(acme, ['viewer']);
    await link(acme, person, 'grace');
    const taken = await call(await provider.token({ sub: 'grace', aud: `${PUBLIC_URL}/mcp` }));
    expect(taken.status).toBe(200);
    expect(taken.text).toContain(person);
    const refused = await call(await provider.token({ sub: 'grace' }));
    expectRefused(refused, 'UNAUTHENTICATED');
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer realm="sealgate", resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect((await whoami('none')).headers['www-authenticate']).toBe('Bearer realm="sealgate"');
    expectRefused(await whoami(await provider.token({ sub: 'grace', aud: `${PUBLIC_URL}/mcp` })), 'UNAUTHENTICATED');
  });

  it.each(['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])(
    'have public metadata at %s',
    async (path) => {
      const answer = await risk.api.send('GET', path);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        resource: `${PUBLIC_URL}/mcp`,
        authorization_servers: [provider.issuer, byOid.issuer],
        scopes_supported: ['api://risk/tools'],
        bearer_methods_supported: ['header'],
        resource_name: 'Sealgate risk tools',
      });
    },
  );
});

describe('the admin listener', () => {
  const ask = (token: string, method: string, path: string, body?: unknown) => risk.adminAs(token, method, path, body);

  it('refuses a token for the public listener, whatever its groups, and the other way round', async () => {
    const groups = ['operators'];
    await link(acme, await newPerson(acme, ['owner']), 'both');
    const [forApi, forAdmin] = [
      await provider.token({ sub: 'both', groups }),
      await adminToken({ sub: 'both', groups }),
    ];
    expect((await whoami(forApi)).status).toBe(200);
    expectRefused(await ask(forApi, 'GET', '/orgs'), 'UNAUTHENTICATED');
    expect((await ask(forAdmin, 'GET', '/orgs')).status).toBe(200);
    expectRefused(await whoami(forAdmin), 'UNAUTHENTICATED');
    expectRefused(
      await ask(await provider.token({ sub: 'both', groups, aud: `${PUBLIC_URL}/mcp` }), 'GET', '/orgs'),
      'UNAUTHENTICATED',
    );
    // This issuer has no audience for the admin listener.
    expectRefused(await ask(await byOid.token({ sub: 'both', oid: 'o', groups }), 'GET', '/orgs'), 'UNAUTHENTICATED');
  });

  it('lets operators do everything and viewers read, and names them in the audit', async () => {
    const operator = await adminToken({ sub: 'olga', groups: ['operators'] });
    const viewer = await adminToken({ sub: 'vera', groups: ['lookers'] });
    expect((await ask(viewer, 'GET', '/orgs')).status).toBe(200);
    expectRefused(await ask(viewer, 'POST', '/orgs', { name: 'By a viewer' }), 'FORBIDDEN');
    expectRefused(await ask(viewer, 'DELETE', `/orgs/${acme}/people/per_none`), 'FORBIDDEN');
    const made = await ask(operator, 'POST', '/orgs', { name: 'By an operator' });
    expect(made.status).toBe(201);
    const [row] = await risk.sql.query<{ actor: string }>({
      text: 'SELECT actor FROM risk.audit_events WHERE resource_id = $1',
      values: [(made.json as { id: string }).id],
    });
    expect(row?.actor).toBe(`oidc:${provider.issuer}#olga`);
  });

  it('refuses callers without a role', async () => {
    for (const claims of [{}, { groups: ['else'] }, { groups: ['operators'], aud: 'https://else.example' }])
      expectRefused(await ask(await adminToken({ sub: 'x', ...claims }), 'GET', '/orgs'), 'UNAUTHENTICATED');
  });
});
