import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { expectCommonHeaders, expectWritten, limitsOf } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer, HeaderLines } from './harness/http-exchange.ts';
import { sender } from './harness/sender.ts';
import type { MintedKey } from './harness/installation.ts';

interface EndingKey {
  readonly id: string;
  readonly createdAt: string;
  readonly endsAt: string;
}

describe('Keys', () => {
  let setup: ContractSetup;
  let networkId: string;
  let key: MintedKey;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork();
    key = await setup.newKey(networkId);
  });
  afterAll(() => setup.stop());

  const write = (rawKey: string, body: unknown = {}, gateway = 0): Promise<HttpAnswer> =>
    sender(setup.gateways[gateway]!.public, networkId, rawKey).post(body);
  const keyPath = (id: string): string => `/networks/${networkId}/keys/${id}`;

  it('are refused identically, whatever is wrong with them', async () => {
    const revoked = await setup.newKey(networkId);
    await setup.admin.ask('DELETE', keyPath(revoked.id));
    const random = revoked.rawKey.slice('ingest_'.length);
    const wrong: readonly HeaderLines[] = [
      {},
      { 'X-Api-Key': '' },
      { 'X-Api-Key': 'ingest_' },
      { 'X-Api-Key': 'not a key' },
      { 'X-Api-Key': `${key.rawKey}=` },
      { 'X-Api-Key': key.rawKey.slice(0, -1) },
      { 'X-Api-Key': key.rawKey.toUpperCase() },
      { 'X-Api-Key': `${key.rawKey.slice(0, -1)}+` },
      { 'X-Api-Key': `gk_${random}` },
      { 'X-Api-Key': `svc_${random}` },
      { 'X-Api-Key': `ingest_${'A'.repeat(43)}` },
      { 'X-Api-Key': revoked.rawKey },
      { 'X-Api-Key': [key.rawKey, key.rawKey] },
      { 'X-Api-Key': key.rawKey, Authorization: ['Bearer a', 'Bearer b'] },
      { Authorization: `Bearer ${key.rawKey}` },
    ];
    const answers: HttpAnswer[] = [];
    for (const headers of wrong) {
      const common = { 'Content-Type': 'application/json', 'X-Request-Id': 'the-same' };
      const request = {
        method: 'POST',
        path: `/${networkId}?api_key=${key.rawKey}&x-api-key=${key.rawKey}`,
        body: '{}',
      };
      answers.push(await setup.gateway.public.send({ ...request, headers: { ...common, ...headers } }));
    }
    const [first] = answers;
    expectProblem(first!, 'UNAUTHENTICATED');
    expectCommonHeaders(first!);
    expect(first!.headers['www-authenticate']).toBe('ApiKey realm="sealgate"');
    for (const { status, text, headers } of answers) {
      expect({ status, text }).toEqual({ status: 401, text: first!.text });
      const { date: _date, ...others } = headers;
      const { date: _firstDate, ...firstOthers } = first!.headers;
      expect(others).toEqual(firstOthers);
      expect(headers['ratelimit']).toBeUndefined();
    }
  });

  it('are scoped to one network: foreign, unknown and malformed networks are indistinguishable to them', async () => {
    const foreign = await setup.newNetwork();
    const texts = new Set<string>();
    for (const network of [
      foreign,
      'never-made',
      'NOT A NETWORK'.replaceAll(' ', '%20'),
      '%00',
      networkId.toUpperCase(),
    ]) {
      const how = { headers: { 'X-Request-Id': 'the-same' } };
      const answer = await sender(setup.gateway.public, network, key.rawKey).post({}, how);
      expectProblem(answer, 'FORBIDDEN');
      limitsOf(answer);
      texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
  });

  it('are limited by their permissions: absent allows everything, an empty list nothing', async () => {
    const ping = { type: 'ping' };
    const outcomes = async (members: object): Promise<number[]> => {
      const { rawKey } = await setup.newKey(networkId, members as Record<string, unknown>);
      return [(await write(rawKey, ping)).status, (await write(rawKey)).status];
    };
    expect(await outcomes({})).toEqual([200, 200]);
    expect(await outcomes({ permissions: [] })).toEqual([403, 403]);
    expect(await outcomes({ permissions: ['ingest:ping'] })).toEqual([200, 403]);
    expect(await outcomes({ permissions: ['ingest:write'] })).toEqual([403, 200]);
    expect(await outcomes({ permissions: ['ingest:ping', 'ingest:write'] })).toEqual([200, 200]);
    const minting = await setup.admin.send('POST', `/networks/${networkId}/keys`, {
      label: 'x',
      permissions: ['ingest:all'],
    });
    expectProblem(minting, 'INVALID_REQUEST');
  });

  it('may write the types they list; the default type has to be listed as well', async () => {
    const { rawKey } = await setup.newKey(networkId, { allowedAssetTypes: ['invoice', 'ping'] });
    expectWritten(await write(rawKey, { type: 'invoice' }));
    expectProblem(await write(rawKey, { type: 'Invoice' }), 'ASSET_TYPE_NOT_ALLOWED');
    expectProblem(await write(rawKey, {}), 'ASSET_TYPE_NOT_ALLOWED');
    expectProblem(await write(rawKey, [1, 2]), 'ASSET_TYPE_NOT_ALLOWED');
    const mixed = { assets: [{ id: 'kept-out', type: 'invoice' }, { type: 'order' }] };
    expectProblem(await write(rawKey, mixed), 'ASSET_TYPE_NOT_ALLOWED');
    expect((await setup.admin.get(`/ledger/channels/${networkId}.main/records/kept-out`)).status).toBe(404);
    const none = await setup.newKey(networkId, { allowedAssetTypes: [] });
    expectProblem(await write(none.rawKey, { type: 'invoice' }), 'ASSET_TYPE_NOT_ALLOWED');
    expect((await write(none.rawKey, { type: 'ping' })).status).toBe(200);
  });

  it('end at their expiry', async () => {
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const brief = await setup.newKey(networkId, { expiresAt });
    expectWritten(await write(brief.rawKey));
    await until(async () => (await write(brief.rawKey)).status === 401, { what: 'the end of the key' });
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
    const past = { label: 'x', expiresAt: new Date(Date.now() - 1_000).toISOString() };
    expectProblem(await setup.admin.send('POST', `/networks/${networkId}/keys`, past), 'INVALID_REQUEST');
  });

  it('are refused from the next request on once revoked, by every process', async () => {
    for (let round = 0; round < 20; round += 1) {
      const doomed = await setup.newKey(networkId);
      expect((await write(doomed.rawKey, {}, 1)).status).toBe(200);
      await setup.admin.ask('DELETE', keyPath(doomed.id));
      expect((await write(doomed.rawKey, {}, 1)).status).toBe(401);
      expect((await write(doomed.rawKey, {}, 0)).status).toBe(401);
    }
  });

  it('rotate: the old one stays valid for the overlap, and replays survive', async () => {
    const body = { id: 'rotated', data: { n: 1 } };
    const how = { idempotencyKey: 'before-the-rotation' };
    const post = (rawKey: string, gateway: number): Promise<HttpAnswer> =>
      sender(setup.gateways[gateway]!.public, networkId, rawKey).post(body, how);
    const first = await post(key.rawKey, 0);
    expectWritten(first);
    const next = await setup.newKey(networkId, { replaces: key.id, overlapSeconds: 2 });
    const replays = [await post(next.rawKey, 1), await post(key.rawKey, 1), await post(next.rawKey, 0)];
    for (const replay of replays) {
      expect({ status: replay.status, text: replay.text }).toEqual({ status: 200, text: first.text });
      expect(replay.headers['idempotent-replayed']).toBe('true');
    }
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    await until(async () => (await write(key.rawKey)).status === 401, { what: 'the end of the overlap' });
    expect((await post(next.rawKey, 0)).text).toBe(first.text);
    const third = await setup.newKey(networkId, { replaces: next.id });
    expect((await write(next.rawKey)).status).toBe(401);
    expect((await post(third.rawKey, 1)).text).toBe(first.text);
  });

  it('are replaced once, by a key of their own network, and are revoked one by one', async () => {
    const mint = (members: object): Promise<HttpAnswer> =>
      setup.admin.send('POST', `/networks/${networkId}/keys`, { label: 'x', ...members });
    const next = await setup.newKey(networkId, { replaces: key.id, overlapSeconds: 600 });
    expectProblem(await mint({ replaces: key.id }), 'ALREADY_EXISTS');
    expectProblem(await mint({ replaces: 'key_unknown' }), 'NOT_FOUND');
    const elsewhere = await setup.newKey(await setup.newNetwork());
    expectProblem(await mint({ replaces: elsewhere.id }), 'NOT_FOUND');
    await setup.admin.ask('DELETE', keyPath(next.id));
    expect((await write(next.rawKey)).status).toBe(401);
    expect((await write(key.rawKey)).status).toBe(200);
    expectProblem(await mint({ replaces: next.id }), 'NOT_FOUND');
  });

  it('are listed newest first, with the end of those that end', async () => {
    const next = await setup.newKey(networkId, { replaces: key.id, overlapSeconds: 600 });
    const list = async () => (await setup.admin.ask('GET', `/networks/${networkId}/keys`))['items'] as EndingKey[];
    const [first, second, ...more] = await list();
    expect(more).toEqual([]);
    expect(first).toMatchObject({ id: next.id, endsAt: null, revokedAt: null });
    const endsAt = new Date(Date.parse(first!.createdAt) + 600_000).toISOString();
    expect(second).toMatchObject({ id: key.id, endsAt, revokedAt: null });
    await setup.admin.ask('DELETE', keyPath(key.id));
    const [, revoked] = await list();
    expect(Date.parse(revoked!.endsAt)).toBeLessThan(Date.parse(endsAt));
    expect(revoked).toMatchObject({ id: key.id, revokedAt: revoked!.endsAt });
  });

  it('of another family have answers of their own under the same Idempotency-Key', async () => {
    const other = await setup.newKey(networkId);
    const how = { idempotencyKey: 'shared-by-chance' };
    const one = await sender(setup.gateway.public, networkId, key.rawKey).post({ a: 1 }, how);
    const two = await sender(setup.gateway.public, networkId, other.rawKey).post({ b: 2 }, how);
    expect(expectWritten(two).records[0]!.id).not.toBe(expectWritten(one).records[0]!.id);
    expect(two.headers['idempotent-replayed']).toBeUndefined();
  });

  it('are shown once, and their use is recorded', async () => {
    await until(async () => {
      await write(key.rawKey);
      return (await setup.admin.ask('GET', keyPath(key.id)))['lastUsedAt'] !== null;
    });
    const seen = [
      (await setup.admin.get(keyPath(key.id))).text,
      (await setup.admin.get(`/networks/${networkId}/keys`)).text,
      (await setup.gateway.ops.send({ path: '/metrics' })).text,
      ...setup.gateways.map((gateway) => gateway.logText()),
    ];
    for (const text of seen) expect(text).not.toContain(key.rawKey.slice('ingest_'.length));
    expect(seen[0]).toContain(key.rawKey.slice(0, 12));
  });

  // Runs last, because it exhausts the failures allowed to this address.
  it('that fail too often slow down their address only, and never a valid key', async () => {
    const attempt = (rawKey: string): Promise<HttpAnswer> => sender(setup.gateway.public, networkId, rawKey).post({});
    for (const guess of [`ingest_${'B'.repeat(43)}`, 'malformed']) {
      const answers = await Promise.all(Array.from({ length: 150 }, () => attempt(guess)));
      const limited = answers.filter(({ status }) => status === 429);
      expect(limited.length).toBeGreaterThan(0);
      expect(answers.every(({ status }) => status === 401 || status === 429)).toBe(true);
      expectProblem(limited[0]!, 'RATE_LIMITED');
      expect(limitsOf(limited[0]!)).toMatchObject({ policy: 'address', burst: 100, remaining: 0 });
      expectWritten(await attempt(key.rawKey));
    }
  });
});
