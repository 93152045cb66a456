import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '@sealgate/json';
import { until } from '@sealgate/testing';
import type { Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const DAY_MS = 86_400_000;
let service: TestInstallation;
let orgId: string;
let viewer: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg();
  await service.newPerson(orgId, ['owner']);
  viewer = await service.newPerson(orgId, ['viewer']);
}, 120_000);
afterAll(() => service.stop());

const mint = (body: unknown, key = viewer.key) => service.api.send('POST', '/api/api-keys', { key, body });
const works = async (key: string) => (await service.api.get('/api/v1/whoami', key)).status;

describe('a key of your own', () => {
  it('is shown once, in five members, and stored only as a hash', async () => {
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
    const rows = await service.sql.query<{ row: string }>({ text: 'SELECT k::text AS row FROM risk.api_keys k' });
    expect(rows.some(({ row }) => row.includes(String(key['rawKey']).slice(12)))).toBe(false);
    expect(rows.some(({ row }) => row.includes(sha256(String(key['rawKey'])).toString('hex')))).toBe(true);
    const [listed] = (await service.api.get('/api/api-keys', viewer.key)).json as Made[];
    const members = ['createdAt', 'endsAt', 'id', 'keyPrefix', 'label', 'lastUsedAt', 'revokedAt'];
    expect(Object.keys(listed!).sort()).toEqual(members);
    expect(service.logLines.some((line) => line.includes(String(key['rawKey'])))).toBe(false);
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

  it('may have a label of a hundred characters of any kind', async () => {
    expect((await mint({ label: '😀'.repeat(100) })).status).toBe(201);
  });

  it('has Unicode white space trimmed from its label, and nothing else', async () => {
    expect((await mint({ label: '\u0085\u00a0till  7\u2028' })).json).toMatchObject({ label: 'till  7' });
    expect((await mint({ label: '\ufefftill 7' })).json).toMatchObject({ label: '\ufefftill 7' });
  });

  it('is revoked at once, idempotently, and only by its person', async () => {
    const key = (await mint({ label: 'x' })).json as Made;
    const other = await service.newPerson(orgId, ['owner']);
    const revoke = async (by: string, id = key.id) =>
      (await service.api.send('DELETE', `/api/api-keys/${id}`, { key: by })).status;
    expect(await revoke(other.key)).toBe(404);
    expect(await works(String(key['rawKey']))).toBe(200);
    expect([await revoke(viewer.key), await revoke(viewer.key)]).toEqual([204, 204]);
    expect(await works(String(key['rawKey']))).toBe(401);
    expect(await revoke(viewer.key, 'key_none')).toBe(404);
    const listed = ((await service.api.get('/api/api-keys', viewer.key)).json as Made[]).find(
      ({ id }) => id === key.id,
    );
    expect(listed!['revokedAt']).toEqual(expect.any(String));
  });

  it('is replaced once, and stays valid for the overlap', async () => {
    const old = (await mint({ label: 'old' })).json as Made;
    const next = await mint({ label: 'new', replaces: old.id, overlapSeconds: 60 });
    expect(next.status).toBe(201);
    expect((await mint({ label: 'third', replaces: old.id })).json).toMatchObject({
      code: 'ALREADY_EXISTS',
      status: 409,
    });
    expect((await mint({ label: 'x', replaces: 'key_none' })).json).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    expect(await works(String(old['rawKey']))).toBe(200);
    const listed = (await service.api.get('/api/api-keys', viewer.key)).json as Made[];
    const endOf = (id: unknown) => listed.find((one) => one.id === id)!['endsAt'];
    const mintedMs = Date.parse(String((next.json as Made)['createdAt']));
    expect([endOf(old.id), endOf((next.json as Made).id)]).toEqual([new Date(mintedMs + 60_000).toISOString(), null]);
    const audited = `/audit?action=apiKey.rotate&resourceId=${String(old.id)}`;
    expect((await service.admin('GET', audited)).json).toMatchObject({
      items: [{ resource: 'apiKey', detail: { orgId, replacedBy: (next.json as Made).id, overlapSeconds: 60 } }],
      total: 1,
    });
    service.skewMs += 61_000;
    expect([await works(String(old['rawKey'])), await works(String((next.json as Made)['rawKey']))]).toEqual([
      401, 200,
    ]);
  });

  it('is listed newest first with its end, until 30 days after it, and the same for an administrator', async () => {
    const { id, key } = await service.newPerson(orgId, ['viewer']);
    const [own] = (await service.api.get('/api/api-keys', key)).json as [Made];
    const old = (await mint({ label: 'old' }, key)).json as Made;
    const next = (await mint({ label: 'next', replaces: old.id, overlapSeconds: 60 }, key)).json as Made;
    const gone = (await mint({ label: 'gone' }, key)).json as Made;
    await service.api.send('DELETE', `/api/api-keys/${gone.id}`, { key });
    const list = async () => {
      const listed = (await service.api.get('/api/api-keys', key)).json as Made[];
      const forAdmin = await service.admin('GET', `/orgs/${orgId}/people/${id}/keys`);
      const shown = (keys: readonly Made[]) => keys.map(({ lastUsedAt: _, ...rest }) => rest);
      expect(shown((forAdmin.json as { items: Made[] }).items)).toEqual(shown(listed));
      return listed;
    };
    const [first, ...others] = await list();
    expect(first).toMatchObject({ id: gone.id, endsAt: first!['revokedAt'], revokedAt: expect.any(String) });
    expect(others).toMatchObject([
      { id: next.id, endsAt: null, revokedAt: null },
      { id: old.id, endsAt: new Date(Date.parse(String(next['createdAt'])) + 60_000).toISOString(), revokedAt: null },
      { id: own.id, endsAt: null },
    ]);
    service.skewMs += 30 * DAY_MS + 30_000;
    expect((await list()).map((one) => one.id)).toEqual([next.id, old.id, own.id]);
    service.skewMs += 31_000;
    expect((await list()).map((one) => one.id)).toEqual([next.id, own.id]);
  });

  it('shows when it was last used, with a short delay', async () => {
    const { key } = await service.newPerson(orgId, ['viewer']);
    await works(key);
    const lastUsed = async () => ((await service.api.get('/api/api-keys', key)).json as Made[])[0]!['lastUsedAt'];
    await until(async () => (await lastUsed()) !== null, { what: 'lastUsedAt' });
  });
});

describe('the rights of a key follow its person', () => {
  it('changes of roles and scope take effect on the next request, in both directions', async () => {
    const person = await service.newPerson(orgId, []);
    const status = async () => (await service.api.get('/api/risks', person.key)).status;
    const roles = (names: string[]) =>
      service.admin('PUT', `/orgs/${orgId}/people/${person.id}/roles`, { roles: names });
    expect(await status()).toBe(403);
    await roles(['viewer']);
    expect(await status()).toBe(200);
    await roles(['partner_read']);
    expect(await status()).toBe(403);
    await roles(['auditor', 'viewer']);
    const who = (await service.api.get('/api/v1/whoami', person.key)).json as Made;
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
    const person = await service.newPerson(orgId, ['owner']);
    expect(await works(person.key)).toBe(200);
    expect((await service.admin('DELETE', `/orgs/${orgId}/people/${person.id}`)).status).toBe(204);
    expect(await works(person.key)).toBe(401);
  });
});

describe('a caller without a live key', () => {
  it.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['another scheme', { authorization: `Basic ${'a'.repeat(20)}` }],
    ['the key in another header', { 'x-api-key': `svc_${'a'.repeat(43)}` }],
    ['a key that is too short', { authorization: `Bearer svc_${'a'.repeat(42)}` }],
    ['two keys', { authorization: `Bearer svc_${'a'.repeat(43)}, Bearer svc_${'b'.repeat(43)}` }],
  ])('gets the same response, whatever the fault: %s', async (_what, headers) => {
    const same = { 'x-request-id': 'same' };
    const wrong = await service.api.send('GET', '/api/risks', { headers: { ...headers, ...same } });
    const none = await service.api.send('GET', '/api/risks', { headers: same });
    expect([wrong.status, wrong.text, wrong.headers['www-authenticate']]).toEqual([
      401,
      none.text,
      'Bearer realm="sealgate"',
    ]);
  });

  it('may write Bearer in any case, and cannot send the key in the query', async () => {
    for (const word of ['bearer', 'BEARER', 'Bearer  '])
      expect(
        (await service.api.send('GET', '/api/v1/whoami', { headers: { authorization: `${word} ${viewer.key}` } }))
          .status,
      ).toBe(200);
    expect((await service.api.get(`/api/v1/whoami?key=${viewer.key}`)).status).toBe(401);
    expect(service.logLines.some((line) => line.includes(viewer.key))).toBe(false);
  });
});

describe('limits', () => {
  it('are in the headers of every response to a key; 429 has Retry-After', async () => {
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
