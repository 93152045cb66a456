import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { listAll, type Members } from './harness/admin-client.ts';
import { expectCommonHeaders, expectWritten } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { sender } from './harness/sender.ts';

const newId = (): string => `adm-${randomBytes(5).toString('hex')}`;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('The admin API', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const send = (method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
    setup.admin.send(method, path, body);
  const at = (...pointers: string[]): { errors: { in: 'body'; pointer: string }[] } => ({
    errors: pointers.map((pointer) => ({ in: 'body', pointer })),
  });

  it('requires a token, and does not say what is wrong with an invalid one', async () => {
    const texts = new Set<string>();
    const token = setup.adminToken;
    for (const value of [
      undefined,
      '',
      'Bearer',
      'Bearer wrong',
      `Basic ${token}`,
      token,
      `Bearer ${token}=`,
      [`Bearer ${token}`, `Bearer ${token}`],
    ]) {
      const headers = { 'X-Request-Id': 'the-same', ...(value === undefined ? {} : { Authorization: value }) };
      const answer = await setup.gateway.admin.send({ path: `/admin/v1/networks?token=${token}`, headers });
      expectProblem(answer, 'UNAUTHENTICATED');
      expectCommonHeaders(answer);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="sealgate"');
      texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { Authorization: `${scheme} ${token}` };
      expect((await setup.gateway.admin.send({ path: '/admin/v1/networks', headers })).status).toBe(200);
    }
  });

  it('creates, lists, reads, changes and deletes networks', async () => {
    const networkId = newId();
    const made = await send('POST', '/networks', { networkId });
    expect(made.status).toBe(201);
    expectCommonHeaders(made);
    const row = {
      networkId,
      name: null,
      channels: ['main'],
      limits: { ratePerSecond: 1000, burst: 2000 },
      createdAt: time,
    };
    expect(made.body).toEqual(row);
    expectProblem(await send('POST', '/networks', { networkId }), 'ALREADY_EXISTS', {
      errors: [{ in: 'body', pointer: '/networkId' }],
    });
    expect((await send('GET', `/networks/${networkId}`)).body).toEqual(row);
    expect(await listAll(setup.admin, '/networks')).toContainEqual(row);
    const change = { name: 'Ours', channels: ['main', 'side'], limits: { ratePerSecond: 5, burst: 100 } };
    const changed = await send('PATCH', `/networks/${networkId}`, change);
    expect({ status: changed.status, body: changed.body }).toEqual({ status: 200, body: { ...row, ...change } });
    const reset = await send('PATCH', `/networks/${networkId}`, { name: null, limits: null });
    expect(reset.body).toEqual({ ...row, channels: change.channels });
    expect((await send('DELETE', `/networks/${networkId}`)).status).toBe(204);
    expect((await send('DELETE', `/networks/${networkId}`)).status).toBe(204);
    expectProblem(await send('GET', `/networks/${networkId}`), 'NOT_FOUND');
    expectProblem(await send('PATCH', `/networks/${networkId}`, { name: 'x' }), 'NOT_FOUND');
    expectProblem(await send('DELETE', `/networks/${newId()}`), 'NOT_FOUND');
    expect(await listAll(setup.admin, '/networks')).not.toContainEqual(expect.objectContaining({ networkId }));
  });

  it('never reuses an id, and keeps the records of a deleted network', async () => {
    const networkId = await setup.newNetwork();
    const key = await setup.newKey(networkId);
    expectWritten(await sender(setup.gateway.public, networkId, key.rawKey).post({ id: 'stays' }));
    expectProblem(await send('DELETE', `/networks/${networkId}`), 'IN_USE');
    expect((await send('DELETE', `/networks/${networkId}/keys/${key.id}`)).status).toBe(204);
    expect((await send('DELETE', `/networks/${networkId}/keys/${key.id}`)).status).toBe(204);
    expectProblem(await send('DELETE', `/networks/${networkId}/keys/key_never_made`), 'NOT_FOUND');
    expect((await send('DELETE', `/networks/${networkId}`)).status).toBe(204);
    expectProblem(await send('POST', '/networks', { networkId }), 'ALREADY_EXISTS');
    expectProblem(await send('POST', `/networks/${networkId}/keys`, { label: 'x' }), 'NOT_FOUND');
    expect((await send('GET', `/ledger/channels/${networkId}.main/records/stays`)).status).toBe(200);
  });

  it.each<[Members, string]>([
    [{}, '/networkId'],
    [{ networkId: 'a' }, '/networkId'],
    [{ networkId: '-a' }, '/networkId'],
    [{ networkId: 'Upper' }, '/networkId'],
    [{ networkId: 'a'.repeat(64) }, '/networkId'],
    [{ networkId: 7 }, '/networkId'],
    [{ networkId: 'fine-id', channels: [] }, '/channels'],
    [{ networkId: 'fine-id', channels: ['no dots.'] }, '/channels/0'],
    [{ networkId: 'fine-id', channels: ['a', 'a'] }, '/channels'],
    [{ networkId: 'fine-id', channels: ['a'.repeat(41)] }, '/channels/0'],
    [{ networkId: 'fine-id', name: 'tab\t' }, '/name'],
    [{ networkId: 'fine-id', limits: { ratePerSecond: 0, burst: 100 } }, '/limits/ratePerSecond'],
    [{ networkId: 'fine-id', limits: { ratePerSecond: 1.5, burst: 100 } }, '/limits/ratePerSecond'],
    [{ networkId: 'fine-id', limits: { ratePerSecond: '1', burst: 100 } }, '/limits/ratePerSecond'],
    [{ networkId: 'fine-id', limits: { ratePerSecond: 1 } }, '/limits/burst'],
    [{ networkId: 'fine-id', unheard: 1 }, '/unheard'],
  ])('refuses an invalid network with a pointer to the fault: %j', async (body, pointer) => {
    expectProblem(await send('POST', '/networks', body), 'INVALID_REQUEST', at(pointer));
    expect((await send('GET', '/networks/fine-id')).status).toBe(404);
  });

  it('reports all faults at once, and parses bodies as strictly as the public listener', async () => {
    const wrong = { networkId: 'Upper', channels: [7], more: true };
    const answer = await send('POST', '/networks', wrong);
    expectProblem(answer, 'INVALID_REQUEST');
    const { errors } = answer.body as { errors: { pointer: string }[] }; // expectProblem has checked its shape.
    expect(errors.map(({ pointer }) => pointer).toSorted()).toEqual(['/channels/0', '/more', '/networkId']);
    const raw = (body: string, type = 'application/json'): Promise<HttpAnswer> => {
      const headers = { Authorization: `Bearer ${setup.adminToken}`, 'Content-Type': type };
      return setup.gateway.admin.send({ method: 'POST', path: '/admin/v1/networks', headers, body });
    };
    expectProblem(await raw('{"networkId":"a","networkId":"b"}'), 'DUPLICATE_MEMBER', at('/networkId'));
    expectProblem(await raw('{'), 'INVALID_JSON');
    expectProblem(await raw('['.repeat(65)), 'JSON_TOO_DEEP');
    expectProblem(await raw('[]'), 'INVALID_REQUEST');
    expectProblem(await raw('{}', 'text/plain'), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await raw(`{"name":"${'x'.repeat(65_536)}"}`), 'PAYLOAD_TOO_LARGE');
  });

  it('mints, lists and reads keys, newest first', async () => {
    const networkId = await setup.newNetwork();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const all = {
      label: 'All of it',
      permissions: ['ingest:write'],
      allowedAssetTypes: ['a', 'b'],
      record: 'whole',
      defaultType: 'a',
      limits: { ratePerSecond: 10, burst: 100 },
      expiresAt: expiresAt.replace('Z', '999999999z'),
    };
    const made = await send('POST', `/networks/${networkId}/keys`, all);
    expect(made.status).toBe(201);
    expect(made.headers['cache-control']).toBe('no-store');
    const { rawKey, ...row } = made.body as Members; // Checked by the next lines.
    expect(rawKey).toMatch(/^ingest_[A-Za-z0-9_-]{43}$/);
    expect(row).toEqual({
      id: expect.stringMatching(/^key_/),
      ...all,
      expiresAt,
      keyPrefix: String(rawKey).slice(0, 12),
      createdAt: time,
      replaces: null,
    });
    expect((await send('GET', `/networks/${networkId}/keys/${String(row['id'])}`)).body).toMatchObject(row);
    const plain = await setup.newKey(networkId, { limits: undefined, replaces: String(row['id']), overlapSeconds: 60 });
    const [newest, older] = await listAll(setup.admin, `/networks/${networkId}/keys`, 1);
    expect(newest).toMatchObject({
      id: plain.id,
      permissions: null,
      allowedAssetTypes: null,
      record: 'envelope',
      replaces: row['id'],
    });
    expect(older).toMatchObject(row);
    expect((await send('GET', `/audit?action=key.rotate&resourceId=${String(row['id'])}`)).body).toMatchObject({
      items: [{ resource: 'key', detail: { replacedBy: plain.id, overlapSeconds: 60 } }],
      total: 1,
    });
    await setup.admin.ask('DELETE', `/networks/${networkId}/keys/${plain.id}`);
    expect(await listAll(setup.admin, `/networks/${networkId}/keys`)).toHaveLength(2);
    expectProblem(await send('GET', `/networks/${networkId}/keys/key_never_made`), 'NOT_FOUND');
    expectProblem(await send('GET', `/networks/${newId()}/keys`), 'NOT_FOUND');
    const elsewhere = await setup.newNetwork();
    expectProblem(await send('GET', `/networks/${elsewhere}/keys/${plain.id}`), 'NOT_FOUND');
    expectProblem(await send('DELETE', `/networks/${elsewhere}/keys/${plain.id}`), 'NOT_FOUND');
  });

  it.each<[Members, string]>([
    [{}, '/label'],
    [{ label: '' }, '/label'],
    [{ label: 'x', permissions: 'ingest:ping' }, '/permissions'],
    [{ label: 'x', permissions: ['ingest:ping', 'ingest:ping'] }, '/permissions'],
    [{ label: 'x', allowedAssetTypes: [''] }, '/allowedAssetTypes/0'],
    [{ label: 'x', record: 'half' }, '/record'],
    [{ label: 'x', overlapSeconds: 604_801 }, '/overlapSeconds'],
    [{ label: 'x', overlapSeconds: -1 }, '/overlapSeconds'],
    [{ label: 'x', expiresAt: 'tomorrow' }, '/expiresAt'],
    [{ label: 'x', expiresAt: '2999-02-30T00:00:00Z' }, '/expiresAt'],
    [{ label: 'x', expiresAt: '2999-01-01T00:00:00.1234567890123Z' }, '/expiresAt'],
    [{ label: 'x', rawKey: 'ingest_mine' }, '/rawKey'],
  ])('refuses an invalid key with a pointer to the fault: %j', async (body, pointer) => {
    const networkId = await setup.newNetwork();
    expectProblem(await send('POST', `/networks/${networkId}/keys`, body), 'INVALID_REQUEST', at(pointer));
    expect(await listAll(setup.admin, `/networks/${networkId}/keys`)).toEqual([]);
  });

  it('keeps at most 200 live keys of a network', async () => {
    const networkId = await setup.newNetwork();
    // A key waits for the lock of its network; on a slow machine longer than its deadline.
    const mint = async (): Promise<HttpAnswer> => {
      const answer = await send('POST', `/networks/${networkId}/keys`, { label: 'One of many' });
      return answer.status === 503 ? mint() : answer;
    };
    const answers: HttpAnswer[] = [];
    // 41 at once: all 205 would wait beyond their deadline anywhere.
    for (let round = 0; round < 5; round += 1) {
      answers.push(...(await Promise.all(Array.from({ length: 41 }, mint))));
    }
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(200);
    const [refused] = answers.filter(({ status }) => status !== 201);
    expectProblem(refused!, 'LIMIT_REACHED');
    const rows = await listAll(setup.admin, `/networks/${networkId}/keys`, 90);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(200);
    await setup.admin.ask('DELETE', `/networks/${networkId}/keys/${String(rows[0]!['id'])}`);
    expect((await mint()).status).toBe(201);
  });

  it('pages its lists, and refuses invalid page parameters', async () => {
    const made = [await setup.newNetwork(), await setup.newNetwork(), await setup.newNetwork()].toSorted();
    const rows = await listAll(setup.admin, '/networks', 1);
    const ids = rows.map(({ networkId }) => String(networkId));
    expect(ids).toEqual(ids.toSorted());
    expect(ids).toEqual(expect.arrayContaining(made));
    expect(new Set(ids).size).toBe(ids.length);
    for (const limit of ['0', '201', '-1', '1.5', '01', 'ten', '', '%201']) {
      expectProblem(await setup.admin.get(`/networks?limit=${limit}`), 'INVALID_LIMIT');
    }
    const { nextCursor } = await setup.admin.ask('GET', '/networks?limit=1');
    for (const cursor of ['', 'x', `${String(nextCursor)}A`, String(nextCursor).slice(1), 'a'.repeat(600)]) {
      expectProblem(await setup.admin.get(`/networks?cursor=${cursor}`), 'INVALID_CURSOR');
    }
    expectProblem(await setup.admin.get(`/events?cursor=${String(nextCursor)}`), 'INVALID_CURSOR');
    expectProblem(await setup.admin.get('/networks?limit=1&limit=1'), 'UNKNOWN_PARAMETER');
    expectProblem(await setup.admin.get('/networks?unheard=1&limit=x&cursor='), 'UNKNOWN_PARAMETER');
    expectProblem(await setup.admin.get('/networks?limit=x&cursor='), 'INVALID_LIMIT');
  });

  it('accepts only the methods of its paths', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/networks', 'GET, POST'],
      ['POST', '/networks/x', 'GET, PATCH, DELETE'],
      ['HEAD', '/networks', 'GET, POST'],
      ['OPTIONS', '/events', 'GET'],
      ['GET', '/ledger/channels/x/audit', 'POST'],
    ] as const) {
      const answer = await send(method, path);
      expect({ method, path, status: answer.status, allow: answer.headers['allow'] }).toEqual({
        method,
        path,
        status: 405,
        allow,
      });
    }
    for (const path of ['', '/', '/networks/', '/networks//keys', '/nothing']) {
      expectProblem(await send('GET', path), 'NOT_FOUND');
    }
  });

  // Runs last, because it exhausts the failures allowed to this address.
  it('slows down clients that guess tokens', async () => {
    const guess = (): Promise<HttpAnswer> =>
      setup.gateway.admin.send({ path: '/admin/v1/networks', headers: { Authorization: 'Bearer guess' } });
    const answers = await Promise.all(Array.from({ length: 150 }, guess));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    expectProblem(limited[0]!, 'RATE_LIMITED');
    expect((await send('GET', '/networks')).status).toBe(200);
  });
});
