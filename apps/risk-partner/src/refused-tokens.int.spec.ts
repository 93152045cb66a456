import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, testIssuer, until, type TestIssuer } from '@sealgate/testing';
import type { Answer } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation } from './testing/test-installation.ts';

const AUDIENCE = 'https://risk.example.com';
const ADMIN_AUDIENCE = 'https://risk.example.com/admin';
let provider: TestIssuer;
let risk: TestInstallation;
let acme: string;

beforeAll(async () => {
  provider = await testIssuer({ audience: AUDIENCE, now: () => Date.now() + (risk?.skewMs ?? 0) });
  risk = await testInstallation({
    PUBLIC_URL: AUDIENCE,
    OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audience: { api: [AUDIENCE], admin: [ADMIN_AUDIENCE] } }]),
    ADMIN_OIDC: JSON.stringify([{ claim: 'groups', value: 'lookers', role: 'viewer' }]),
  });
  acme = await risk.newOrg('Acme');
}, 120_000);
afterAll(async () => {
  await risk.stop();
  await provider.stop();
});
const expectRefused = (
  answer: Answer,
  ...expected: Parameters<typeof expectProblem> extends [unknown, ...infer Rest] ? Rest : never
) => expectProblem({ ...answer, body: answer.json }, ...expected);

const newPerson = async (orgId: string, roles: readonly string[]) => (await risk.newPerson(orgId, roles)).id;
const identities = (orgId: string, personId: string) => `/orgs/${orgId}/people/${personId}/identities`;
const link = async (orgId: string, personId: string, subject: string): Promise<string> => {
  const answer = await risk.admin('POST', identities(orgId, personId), { issuer: provider.issuer, subject });
  return (answer.json as { id: string }).id;
};
const adminToken = (claims: object) => provider.token({ aud: ADMIN_AUDIENCE, ...claims });
const whoami = async (token: string, headers: Record<string, string> = {}) =>
  risk.api.send('GET', '/api/whoami', { key: token, headers });

describe('a token', () => {
  it('is accepted with a token of 16 KiB, and refused with a longer one', async () => {
    await link(acme, await newPerson(acme, ['viewer']), 'long');
    const tokenOf = (characters: number) => provider.token({ sub: 'long', groups: ['x'.repeat(characters)] });
    const plain = (await tokenOf(0)).length;
    const fits = Math.floor(((16_384 - plain) * 3) / 4) - 2;
    expect((await whoami(await tokenOf(fits))).status).toBe(200);
    expectRefused(await whoami(await tokenOf(fits + 10)), 'UNAUTHENTICATED');
  });
});

describe('the log line of a refused token', () => {
  const lineOf = async (requestId: string) => {
    const ofRequest = () => risk.logLines.find((one) => one.includes(`"${requestId}"`));
    await until(async () => ofRequest() !== undefined);
    return JSON.parse(ofRequest()!) as Record<string, unknown>;
  };

  it.each<[string, () => Promise<string>]>([
    ['not_linked', () => provider.token({ sub: 'nobody-1' })],
    ['expired', () => provider.token({ sub: 'nobody-1', exp: 1000, iat: 900 })],
    ['audience', () => provider.token({ sub: 'nobody-1', aud: 'https://else.example' })],
  ])('has the reason %s, issuer and subject', async (tokenRefused, make) => {
    const requestId = `refused-${tokenRefused}`;
    expectRefused(await whoami(await make(), { 'x-request-id': requestId }), 'UNAUTHENTICATED');
    expect(await lineOf(requestId)).toMatchObject({ tokenRefused, issuer: provider.issuer, subject: 'nobody-1' });
  });

  it('has neither issuer nor subject if the signature is not valid', async () => {
    const token = `${(await provider.token({ sub: 'forged-1' })).slice(0, -6)}AAAAAA`;
    await whoami(token, { 'x-request-id': 'refused-signature' });
    const line = await lineOf('refused-signature');
    expect(line).toMatchObject({ tokenRefused: 'signature', status: 401 });
    expect(line).not.toHaveProperty('issuer');
    expect(JSON.stringify(line)).not.toMatch(/forged-1|eyJ/);
  });

  it('says nothing of a mistyped key', async () => {
    await whoami('svc_mistyped', { 'x-request-id': 'refused-key' });
    expect(await lineOf('refused-key')).not.toHaveProperty('tokenRefused');
  });

  it('tells the reason on the admin listener too', async () => {
    await risk.adminAs(await adminToken({ sub: 'no-role-1' }), 'GET', '/orgs');
    await until(async () => risk.logLines.some((one) => one.includes('"no-role-1"')));
    const line = risk.logLines.find((one) => one.includes('"no-role-1"'))!;
    expect(JSON.parse(line)).toMatchObject({ tokenRefused: 'no_role', issuer: provider.issuer, subject: 'no-role-1' });
  });

  it('tells another organisation', async () => {
    await link(acme, await newPerson(acme, ['viewer']), 'ivan');
    const token = await provider.token({ sub: 'ivan' });
    await whoami(token, { 'x-organization': 'org_of_others', 'x-request-id': 'refused-organization' });
    expect(await lineOf('refused-organization')).toMatchObject({ tokenRefused: 'organization', subject: 'ivan' });
  });
});

describe('unlinked identities', () => {
  interface Unlinked {
    items: { issuer: string; subject: string; email: string | null; emailVerified: boolean; lastSeenAt: string }[];
    nextCursor: string | null;
  }
  const list = async (query = '') => (await risk.admin('GET', `/identities/unlinked${query}`)).json as Unlinked;
  const rowOf = async (subject: string) => (await list('?limit=200')).items.find((one) => one.subject === subject);

  it('are listed once each, newest first, until somebody is linked, and again after', async () => {
    const claims = { sub: 'una', email: 'Una@Example.com', email_verified: 'true' };
    for (let i = 0; i < 3; i += 1) expectRefused(await whoami(await provider.token(claims)), 'UNAUTHENTICATED');
    await until(async () => (await rowOf('una')) !== undefined);
    const { items } = await list('?limit=200');
    expect(items.filter(({ subject }) => subject === 'una')).toEqual([
      {
        issuer: provider.issuer,
        subject: 'una',
        email: 'Una@Example.com',
        emailVerified: true,
        lastSeenAt: expect.any(String),
      },
    ]);
    const id = await link(acme, await newPerson(acme, ['viewer']), 'una');
    expect(await rowOf('una')).toBeUndefined();
    const people = await risk.sql.query<{ person_id: string }>({
      text: 'SELECT person_id FROM risk.identities WHERE identity_id = $1',
      values: [id],
    });
    await risk.admin('DELETE', `${identities(acme, people[0]!.person_id)}/${id}`);
    expect(await rowOf('una')).toMatchObject({ email: 'Una@Example.com' });
  });

  it('are those with valid tokens alone, of the last 24 hours, by pages', async () => {
    await whoami(await provider.token({ sub: 'invalid-1', aud: 'else' }));
    for (const sub of ['page-1', 'page-2', 'page-3']) await whoami(await provider.token({ sub }));
    await until(async () => (await rowOf('page-3')) !== undefined);
    expect(await rowOf('invalid-1')).toBeUndefined();
    const seen = [];
    for (let query = '?limit=1'; query !== '';) {
      const { items, nextCursor } = await list(query);
      seen.push(...items);
      query = nextCursor === null ? '' : `?limit=1&cursor=${nextCursor}`;
    }
    const times = seen.map(({ lastSeenAt }) => lastSeenAt);
    expect(times).toEqual([...times].sort().reverse());
    expect(seen.filter(({ subject }) => subject.startsWith('page-'))).toHaveLength(3);
    risk.skewMs = 86_400_000 + 60_000;
    expect((await list()).items).toEqual([]);
    risk.skewMs = 0;
  });

  it('are kept to the newest thousand', async () => {
    await risk.sql.query({
      text: `INSERT INTO risk.unlinked_identities (issuer, subject, email_verified, last_seen_at)
             SELECT 'https://many.example', 'many-' || n, false, now() - n * interval '1 second'
               FROM generate_series(1, 1500) n`,
      values: [],
    });
    await whoami(await provider.token({ sub: 'newest-1' }));
    await until(async () => (await rowOf('newest-1')) !== undefined);
    await until(async () => {
      const [row] = await risk.sql.query<{ count: number }>({
        text: 'SELECT count(*)::int AS count FROM risk.unlinked_identities',
        values: [],
      });
      return row!.count === 1000;
    });
  });

  it('are hidden by no row at the end of time', async () => {
    for (const at of ['infinity', '-infinity', '10000-01-01']) {
      const text = `INSERT INTO risk.unlinked_identities (issuer, subject, email_verified, last_seen_at)
                    VALUES ('https://many.example', 'never', false, $1)`;
      await expect(risk.sql.query({ text, values: [at] })).rejects.toMatchObject({ code: '23514' });
    }
    expect((await risk.admin('GET', '/identities/unlinked')).status).toBe(200);
  });

  it('are for operators alone', async () => {
    const viewer = await adminToken({ sub: 'vera', groups: ['lookers'] });
    expectRefused(await risk.adminAs(viewer, 'GET', '/identities/unlinked'), 'FORBIDDEN');
    expect((await risk.admin('GET', '/identities/unlinked?limit=0')).status).toBe(400);
    expect((await risk.admin('GET', '/identities/unlinked?cursor=x')).status).toBe(400);
  });
});
