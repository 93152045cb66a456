import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '@sealgate/json';
import { until } from '@sealgate/testing';
import type { Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let there: TestInstallation;
let orgId: string;
let viewer: TestPerson;

beforeAll(async () => {
  there = await testInstallation();
  orgId = await there.newOrg();
  await there.newPerson(orgId, ['owner']);
  viewer = await there.newPerson(orgId, ['viewer']);
}, 120_000);
afterAll(() => there.stop());

const mint = (body: unknown, key = viewer.key) => there.api.send('POST', '/api/api-keys', { key, body });
const works = async (key: string) => (await there.api.get('/api/v1/whoami', key)).status;

describe('a key of your own', () => {
  it('is shown once, in five members, and stored as its hash alone', async () => {
    const answer = await mint({ label: '  till 7\u3000' });
    const key = answer.json as Made;
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      rawKey: expect.stringMatching(/^svc_[A-Za-z0-9_-]{43}$/),
      label: 'till 7',
      keyPrefix: String(key['rawKey']).slice(0, 12),
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(await works(String(key['rawKey']))).toBe(200);
    const rows = await there.sql.query<{ row: string }>({ text: 'SELECT k::text AS row FROM risk.api_keys k' });
    expect(rows.some(({ row }) => row.includes(String(key['rawKey']).slice(12)))).toBe(false);
    expect(rows.some(({ row }) => row.includes(sha256(String(key['rawKey'])).toString('hex')))).toBe(true);
    const [listed] = (await there.api.get('/api/api-keys', viewer.key)).json as Made[];
    expect(Object.keys(listed!).sort()).toEqual(['createdAt', 'id', 'keyPrefix', 'label', 'lastUsedAt', 'revokedAt']);
    expect(there.logLines.some((line) => line.includes(String(key['rawKey'])))).toBe(false);
  });

  it.each([
    [{}],
    [{ label: '' }],
    [{ label: ' \u2003 ' }],
    [{ label: '\u0085' }],
    [{ label: 'x'.repeat(101) }],
    [{ label: 'a\nb' }],
    [{ label: 1 }],
    [{ label: 'x', scope: 'all' }],
    [{ label: 'x', overlapSeconds: 604_801 }],
  ])('is refused for %j', async (body) =>
    expect((await mint(body)).json).toMatchObject({ status: 400, code: 'INVALID_REQUEST' }),
  );

  it('may be called by a hundred characters of any kind', async () => {
    expect((await mint({ label: '😀'.repeat(100) })).status).toBe(201);
  });

  it('loses what Unicode calls white space around its label, and nothing else', async () => {
    expect((await mint({ label: '\u0085\u00a0till  7\u2028' })).json).toMatchObject({ label: 'till  7' });
    expect((await mint({ label: '\ufefftill 7' })).json).toMatchObject({ label: '\ufefftill 7' });
  });

  it('is revoked at once, again and again, and by nobody else', async () => {
    const key = (await mint({ label: 'x' })).json as Made;
    const other = await there.newPerson(orgId, ['owner']);
    const revoke = async (by: string, id = key.id) =>
      (await there.api.send('DELETE', `/api/api-keys/${id}`, { key: by })).status;
    expect(await revoke(other.key)).toBe(404);
    expect(await works(String(key['rawKey']))).toBe(200);
    expect([await revoke(viewer.key), await revoke(viewer.key)]).toEqual([204, 204]);
    expect(await works(String(key['rawKey']))).toBe(401);
    expect(await revoke(viewer.key, 'key_none')).toBe(404);
    const listed = ((await there.api.get('/api/api-keys', viewer.key)).json as Made[]).find(({ id }) => id === key.id);
    expect(listed!['revokedAt']).toEqual(expect.any(String));
  });

  it('is replaced once, and lives on for the overlap', async () => {
    const old = (await mint({ label: 'old' })).json as Made;
    const next = await mint({ label: 'new', replaces: old.id, overlapSeconds: 60 });
    expect(next.status).toBe(201);
    expect((await mint({ label: 'third', replaces: old.id })).json).toMatchObject({
      code: 'ALREADY_EXISTS',
      status: 409,
    });
    expect((await mint({ label: 'x', replaces: 'key_none' })).json).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    expect(await works(String(old['rawKey']))).toBe(200);
    there.skewMs += 61_000;
    expect([await works(String(old['rawKey'])), await works(String((next.json as Made)['rawKey']))]).toEqual([
      401, 200,
    ]);
  });

  it('says when it was last used, a moment later', async () => {
    const { key } = await there.newPerson(orgId, ['viewer']);
    await works(key);
    const lastUsed = async () => ((await there.api.get('/api/api-keys', key)).json as Made[])[0]!['lastUsedAt'];
    await until(async () => (await lastUsed()) !== null, { what: 'lastUsedAt' });
  });
});

describe('what a key may do follows its person', () => {
  it('roles and scope hold from the next request on, in both directions', async () => {
    const person = await there.newPerson(orgId, []);
    const status = async () => (await there.api.get('/api/risks', person.key)).status;
    const roles = (names: string[]) => there.admin('PUT', `/orgs/${orgId}/people/${person.id}/roles`, { roles: names });
    expect(await status()).toBe(403);
    await roles(['viewer']);
    expect(await status()).toBe(200);
    await roles(['partner_read']);
    expect(await status()).toBe(403);
    await roles(['auditor', 'viewer']);
    const who = (await there.api.get('/api/v1/whoami', person.key)).json as Made;
    expect(who).toMatchObject({
      orgId,
      personId: person.id,
      roles: ['auditor', 'viewer'],
      scope: { unrestricted: true },
    });
    expect(who['permissions']).toEqual(expect.arrayContaining(['audit:read', 'risk:export', 'apiKey:create']));
    expect(who['permissions']).not.toEqual(expect.arrayContaining(['risk:create']));
  });

  it('ends with the membership', async () => {
    const person = await there.newPerson(orgId, ['owner']);
    expect(await works(person.key)).toBe(200);
    expect((await there.admin('DELETE', `/orgs/${orgId}/people/${person.id}`)).status).toBe(204);
    expect(await works(person.key)).toBe(401);
  });
});

describe('whoever shows no live key', () => {
  it.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['another scheme', { authorization: `Basic ${'a'.repeat(20)}` }],
    ['the key in another header', { 'x-api-key': `svc_${'a'.repeat(43)}` }],
    ['a key that is too short', { authorization: `Bearer svc_${'a'.repeat(42)}` }],
    ['two keys', { authorization: `Bearer svc_${'a'.repeat(43)}, Bearer svc_${'b'.repeat(43)}` }],
  ])('is told the same, whatever it was: %s', async (_what, headers) => {
    const same = { 'x-request-id': 'same' };
    const wrong = await there.api.send('GET', '/api/risks', { headers: { ...headers, ...same } });
    const none = await there.api.send('GET', '/api/risks', { headers: same });
    expect([wrong.status, wrong.text, wrong.headers['www-authenticate']]).toEqual([
      401,
      none.text,
      'Bearer realm="sealgate"',
    ]);
  });

  it('may write Bearer as they like, and cannot use the query', async () => {
    for (const word of ['bearer', 'BEARER', 'Bearer  '])
      expect(
        (await there.api.send('GET', '/api/v1/whoami', { headers: { authorization: `${word} ${viewer.key}` } })).status,
      ).toBe(200);
    expect((await there.api.get(`/api/v1/whoami?key=${viewer.key}`)).status).toBe(401);
    expect(there.logLines.some((line) => line.includes(viewer.key))).toBe(false);
  });
});

describe('limits', () => {
  it('are told with every answer to a key, and refuse with the moment to come back', async () => {
    const limited = await testInstallation({ RATE_PER_SECOND: '1', RATE_BURST: '3' });
    try {
      const person = await limited.newPerson(await limited.newOrg(), ['viewer']);
      const ask = () => limited.api.get('/api/risks', person.key);
      const first = await ask();
      expect(first.headers).toMatchObject({
        'ratelimit-policy': '"key";q=3;w=3',
        ratelimit: expect.stringMatching(/^"key";r=/),
      });
      let last = first;
      for (let count = 0; count < 4; count += 1) last = await ask();
      expect(last.json).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
      expect(Number(last.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    } finally {
      await limited.stop();
    }
  }, 60_000);
});
