import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { expectWritten, limitsOf } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { sender, type Sender } from './harness/sender.ts';
import { describeWithRedis } from '@sealgate/testing';

const batch = (count: number): { assets: object[] } => ({ assets: Array.from({ length: count }, (_, n) => ({ n })) });

describe('Limits', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const smallest = { ratePerSecond: 1, burst: 100 };
  async function limited(limits: { network?: object; key?: object }): Promise<{ networkId: string; from: Sender }> {
    const networkId = await setup.newNetwork(limits.network === undefined ? {} : { limits: limits.network });
    const { rawKey } = await setup.newKey(networkId, limits.key === undefined ? {} : { limits: limits.key });
    return { networkId, from: sender(setup.gateway.public, networkId, rawKey) };
  }

  it.each([['network'], ['key']] as const)('are of the %s: a burst, then its rate', async (name) => {
    const { from } = await limited({ [name]: smallest });
    const full = await from.post(batch(60));
    expectWritten(full);
    expect(limitsOf(full)).toEqual({ policy: name, burst: 100, remaining: 40 });
    const over = await from.post(batch(50));
    expectProblem(over, 'RATE_LIMITED');
    expect(limitsOf(over)).toMatchObject({ policy: name, burst: 100, remaining: expect.any(Number) });
    // 10 records are missing at one per second; a part of the first may have been refilled already.
    expect(Number(over.headers['retry-after'])).toBeGreaterThanOrEqual(9);
    expect(Number(over.headers['retry-after'])).toBeLessThanOrEqual(10);
    expect(over.headers['ratelimit']).toMatch(new RegExp(`;t=${String(over.headers['retry-after'])}$`));
    expectWritten(await from.post(batch(40)));
  });

  it('are charged on both buckets or on none', async () => {
    const { networkId, from } = await limited({ network: { ratePerSecond: 1, burst: 150 } });
    const { rawKey } = await setup.newKey(networkId, { limits: smallest });
    const narrow = sender(setup.gateway.public, networkId, rawKey);
    expectWritten(await narrow.post(batch(100)));
    for (let tries = 0; tries < 5; tries += 1) expectProblem(await narrow.post(batch(20)), 'RATE_LIMITED');
    const wide = await from.post(batch(50));
    expectWritten(wide);
    expect(limitsOf(wide).remaining).toBeLessThan(10);
  });

  it('charge a replay and a conflict like the original, a ping one, and a refusal before them nothing', async () => {
    const { from } = await limited({ key: smallest });
    const left = async (answer: Promise<HttpAnswer>): Promise<number> => limitsOf(await answer).remaining;
    const how = { idempotencyKey: 'charged-twice' };
    expect(await left(from.post({ assets: [{ id: 'x' }, {}, {}] }, how))).toBe(97);
    expect(await left(from.post({ assets: [{ id: 'x' }, {}, {}] }, how))).toBe(94);
    expect(await left(from.post({ assets: [{ id: 'x', data: { other: 1 } }, {}] }))).toBe(92);
    expect(await left(from.post({ type: 'ping' }))).toBe(91);
    expectProblem(await from.post({ assets: [] }), 'INVALID_REQUEST');
    expectProblem(await from.post({ targetChannels: ['x'] }), 'UNKNOWN_CHANNEL');
    expectProblem(await from.post({}, { idempotencyKey: 'with space' }), 'INVALID_IDEMPOTENCY_KEY');
    expect(await left(from.post({}))).toBeGreaterThanOrEqual(90);
  });

  it('apply within two seconds of a change, and are never smaller than a batch', async () => {
    const { networkId, from } = await limited({});
    const set = (limits: unknown): Promise<HttpAnswer> =>
      setup.admin.send('PATCH', `/networks/${networkId}`, { limits });
    expect(limitsOf(await from.post({})).burst).toBe(1_000_000);
    expect((await set(smallest)).status).toBe(200);
    await until(async () => limitsOf(await from.post({ type: 'ping' })).burst === 100, { timeoutMs: 2_000 });
    expect((await set(null)).status).toBe(200);
    await until(async () => limitsOf(await from.post({ type: 'ping' })).burst === 2_000, { timeoutMs: 2_000 });
    const pointer = { errors: [{ in: 'body' as const, pointer: '/limits/burst' }] };
    expectProblem(await set({ ratePerSecond: 10, burst: 99 }), 'INVALID_REQUEST', pointer);
    const minting = { label: 'x', limits: { ratePerSecond: 10, burst: 99 } };
    expectProblem(await setup.admin.send('POST', `/networks/${networkId}/keys`, minting), 'INVALID_REQUEST', pointer);
    const making = { networkId: 'never-made', limits: { ratePerSecond: 10, burst: 99 } };
    expectProblem(await setup.admin.send('POST', '/networks', making), 'INVALID_REQUEST', pointer);
  });

  it('on refusals apply per key: 50 at once, then the refusal itself is refused, and valid requests are not', async () => {
    const { networkId, from } = await limited({});
    const bad = await Promise.all(Array.from({ length: 120 }, () => from.post('{')));
    const limitedOnes = bad.filter(({ status }) => status === 429);
    expect(bad.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(50);
    expect(limitedOnes.length).toBeGreaterThan(0);
    expect(bad.every(({ status }) => status === 400 || status === 429)).toBe(true);
    expectProblem(limitedOnes[0]!, 'RATE_LIMITED');
    const valid = await from.post({});
    expectWritten(valid);
    expect(limitsOf(valid).remaining).toBeGreaterThan(999_000);
    const other = sender(setup.gateway.public, networkId, (await setup.newKey(networkId)).rawKey);
    expectProblem(await other.post('{'), 'INVALID_JSON');
  });

  it('are not spent by requests without a key', async () => {
    const { networkId, from } = await limited({ network: smallest, key: smallest });
    const flood = sender(setup.gateway.public, networkId, `ingest_${'C'.repeat(43)}`);
    await Promise.all(Array.from({ length: 200 }, () => flood.post(batch(100))));
    const answer = await from.post(batch(99));
    expectWritten(answer);
    expect(limitsOf(answer).remaining).toBe(1);
  });
});

describeWithRedis('Limits over two processes', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it.each([
    ['by Redis alone', { ratePerSecond: 20, burst: 100 }],
    ['with leases', { ratePerSecond: 20, burst: 300 }],
  ])('admit no more than the burst and the rate allow across processes, %s', async (_how, limits) => {
    const networkId = await setup.newNetwork({ limits });
    const { rawKey } = await setup.newKey(networkId);
    const senders = setup.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
    const startedMs = performance.now();
    let admitted = 0;
    let refused = 0;
    const worker = async (from: Sender): Promise<void> => {
      // Until the bucket has been empty for a while, however fast the machine is.
      while (refused < 40) {
        const answer = await from.post({});
        if (answer.status === 200) admitted += 1;
        else {
          expectProblem(answer, 'RATE_LIMITED');
          refused += 1;
        }
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((number) => worker(senders[number % 2]!)));
    const windowSeconds = (performance.now() - startedMs) / 1_000;
    expect(admitted).toBeLessThanOrEqual(limits.burst + limits.ratePerSecond * windowSeconds + 1);
    // No request is refused while the limit allows it.
    expect(admitted).toBeGreaterThanOrEqual(limits.burst);
  });
});
