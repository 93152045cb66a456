import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, testIssuer, type TestIssuer } from '@sealgate/testing';
import { gateSite, newCase, sealedCase, SETUP_MS, type Answer } from '../test/running-gate.ts';

const ADMIN = 'https://gate.example.com/admin';
const ROLES = ['operator', 'viewer', 'reviewer', 'author'] as const;
type Role = (typeof ROLES)[number];

let provider: TestIssuer;
let site: Awaited<ReturnType<typeof gateSite>>;
let caseId: string;
let subjectRef: string;

beforeAll(async () => {
  provider = await testIssuer({ audience: ADMIN, now: Date.now });
  site = await gateSite({
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { admin: [ADMIN] } }]),
    ADMIN_OIDC: JSON.stringify(ROLES.map((role) => ({ claim: 'groups', value: `${role}s`, role }))),
  });
  ({ caseId } = await newCase(site, site.key));
  ({ subjectRef } = await sealedCase(site, site.key));
}, SETUP_MS);
afterAll(async () => {
  await site.stop();
  await provider.stop();
});

/** A request of a person who has these roles. */
const as = async (roles: readonly Role[], method: string, path: string, body?: unknown): Promise<Answer> => {
  const token = await provider.token({ sub: roles.join('-'), aud: ADMIN, groups: roles.map((role) => `${role}s`) });
  const response = await fetch(`${site.adminUrl}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, text, body: text === '' ? undefined : JSON.parse(text) };
};

const rules = { rules: [], default: { decision: 'decline', reason_codes: ['NONE'] } };
const sha256 = 'a'.repeat(64);
const reference = { kind: 'vault_ref', ref: 'vault/1', sha256, media_type: 'text/plain', size_bytes: 1 };

describe('roles of the admin listener', () => {
  it.each<[string, readonly Role[], readonly string[]]>([
    ['a reviewer', ['reviewer'], ['cases:read', 'cases:review', 'policies:read']],
    ['an author', ['author'], ['policies:read', 'policies:draft']],
    ['both', ['author', 'reviewer'], ['cases:read', 'cases:review', 'policies:read', 'policies:draft']],
  ])('are told to %s', async (_who, roles, permissions) => {
    const { status, body } = await as(roles, 'GET', '/whoami');
    expect({ status, permissions: body.permissions }).toEqual({ status: 200, permissions });
    expect([...body.roles].sort()).toEqual([...roles].sort());
  });

  it.each<[string, readonly Role[]]>([
    ['/cases', ['operator', 'viewer', 'reviewer']],
    ['/case-counts', ['operator', 'viewer', 'reviewer']],
    ['/cases/:id', ['operator', 'viewer', 'reviewer']],
    ['/cases/:id/timeline', ['operator', 'viewer', 'reviewer']],
    ['/cases/:id/assessor-pack?draft=true', ['operator', 'viewer', 'reviewer']],
    ['/activity', ['operator', 'viewer', 'reviewer']],
    ['/subjects/:subject', ['operator', 'viewer', 'reviewer']],
    ['/subjects/:subject/history', ['operator', 'viewer', 'reviewer']],
    ['/policies', ROLES],
    ['/policies/p1', ROLES],
    ...['/venues', '/subjects', '/keys', '/decisions', '/audit', '/waiting', '/secrets', '/decision-log'].map(
      (path): [string, readonly Role[]] => [path, ['operator', 'viewer']],
    ),
    ['/cases/export?format=csv', ['operator']],
    ['/policies/export?format=csv', ['operator']],
  ])('decide who reads %s', async (path, allowed) => {
    for (const role of ROLES) {
      const response = await asText(role, path.replace(':id', caseId).replace(':subject', subjectRef));
      expect([role, response]).toEqual([role, allowed.includes(role) ? 200 : 403]);
    }
  });

  it('let a reviewer attach, decide and seal, and change nothing else', async () => {
    const reviewer = (method: string, path: string, body?: object) => as(['reviewer'], method, path, body);
    expect((await reviewer('POST', `/cases/${caseId}/attachments`, { attachments: [reference] })).status).toBe(201);
    const decision = { policy_version: 'p1', decision: 'approve', reason_codes: ['SEEN'] };
    expect((await reviewer('POST', `/cases/${caseId}/decide`, decision)).status).toBe(201);
    expect((await reviewer('POST', `/cases/${caseId}/seal`, { policy_version: 'p1' })).status).toBe(201);
    const events = (await site.admin('GET', '/audit?limit=3')).body.items;
    expect(events).toMatchObject([
      { action: 'case.seal', actor: `oidc:${provider.issuer}#reviewer` },
      { action: 'case.decide', detail: { decided_by: 'reviewer' } },
      { action: 'case.attach' },
    ]);
    for (const [method, path, body] of [
      ['PUT', `/cases/${caseId}/venues`, { venue_ids: ['hall'] }],
      ['POST', `/cases/${caseId}/withdraw`, {}],
      ['POST', '/venues', { venue_id: 'bar', name: 'Bar' }],
      ['POST', '/policies', { policy_version: 'p2', rules }],
      ['POST', '/policies/p1/try', { last_decided: 1 }],
      ['POST', '/subjects/subj_1/suspend', { reason: 'X' }],
      ['POST', '/keys', { label: 'key', environment: 'live', scopes: [] }],
    ] as const)
      expectProblem(await reviewer(method, path, body), 'FORBIDDEN');
  });

  it('let an author draft policies and try them, not activate or retire', async () => {
    const author = (method: string, path: string, body?: object) => as(['author'], method, path, body);
    expectProblem(await author('POST', '/policies', { policy_version: 'd1', status: 'active' }), 'FORBIDDEN');
    expect((await author('POST', '/policies', { policy_version: 'd1', rules })).status).toBe(201);
    expect((await author('PATCH', '/policies/d1', { rules, status: 'draft' })).status).toBe(200);
    for (const status of ['active', 'retired'])
      expectProblem(await author('PATCH', '/policies/d1', { status }), 'FORBIDDEN');
    expect((await site.admin('GET', '/policies/d1')).body).toMatchObject({ status: 'draft' });
    expect((await author('POST', '/policies/d1/try', { last_decided: 1 })).body).toMatchObject({
      policy_version: 'd1',
    });
    expect((await author('GET', `/cases/${caseId}/explanation?policy_version=d1`)).status).toBe(200);
    expectProblem(await author('POST', `/cases/${caseId}/decide`, { policy_version: 'p1' }), 'FORBIDDEN');
    expectProblem(await author('PATCH', '/venues/hall', { name: 'Other' }), 'FORBIDDEN');
    // An operator may.
    expect((await as(['operator'], 'PATCH', '/policies/d1', { status: 'active' })).body).toMatchObject({
      status: 'active',
    });
  });

  it('let a viewer change nothing', async () => {
    for (const [path, body] of [
      [`/cases/${caseId}/decide`, { policy_version: 'p1' }],
      ['/policies', { policy_version: 'p3' }],
      ['/policies/p1/try', { last_decided: 1 }],
    ] as const)
      expectProblem(await as(['viewer'], 'POST', path, body), 'FORBIDDEN');
  });
});

/** The status of a read, whatever its body is. */
async function asText(role: Role, path: string): Promise<number> {
  const token = await provider.token({ sub: role, aud: ADMIN, groups: [`${role}s`] });
  const response = await fetch(`${site.adminUrl}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  await response.body?.cancel();
  return response.status;
}
