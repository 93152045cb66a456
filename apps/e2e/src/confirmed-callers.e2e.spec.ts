import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectWritten } from './harness/answers.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import type { MintedKey } from './harness/installation.ts';
import { sender, type Sender } from './harness/sender.ts';

/** The second process has cached the caller from recent requests; all changes go through the first. */
describe('A caller in the cache of another process', () => {
  let setup: ContractSetup;
  let networkId: string;
  let key: MintedKey;
  let there: Sender;
  beforeAll(async () => {
    setup = await contractSetup({ gateways: 2 });
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork();
    await useNewKey();
  });
  afterAll(() => setup.stop());

  const useNewKey = async (): Promise<void> => {
    key = await setup.newKey(networkId);
    there = sender(setup.gateways[1]!.public, networkId, key.rawKey);
  };
  const revoke = () => setup.admin.ask('DELETE', `/networks/${networkId}/keys/${key.id}`);
  const statusOf = async (id: string, channel = 'main'): Promise<number> =>
    (await setup.admin.get(`/ledger/channels/${networkId}.${channel}/records/${id}`)).status;

  // No more requests without a key than the failures that one address is allowed.
  it('writes nothing by a request that came after the answer to its revocation, under any load', async () => {
    for (let round = 0; round < 3; round += 1) {
      await useNewKey();
      let isAnswered = false;
      const sent: { id: string; isLate: boolean; status: number }[] = [];
      const busy = Array.from({ length: 6 }, async (_, writer) => {
        for (let late = 0, n = 0; late < 2; n += 1) {
          const id = `r${round}-${writer}-${n}`;
          const isLate = isAnswered;
          const { status } = await there.post({ id }, { idempotencyKey: id });
          sent.push({ id, isLate, status });
          if (isLate) late += 1;
        }
      });
      while (sent.filter(({ status }) => status === 200).length < 30) await there.post({});
      await revoke();
      isAnswered = true;
      await Promise.all(busy);
      const late = sent.filter((one) => one.isLate);
      expect(late.map(({ status }) => status)).toEqual(late.map(() => 401));
      expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200, 401]));
      // A 401 is reliable: the record of such a request does not exist.
      for (const { id, status } of sent.filter((one) => one.status === 401)) {
        expect([id, status, await statusOf(id)]).toEqual([id, 401, 404]);
      }
    }
  });

  it.each([
    ['a replay', () => there.post({ id: 'kept' }, { idempotencyKey: 'kept' })],
    ['another request under a key', () => there.post({ id: 'kept', n: 2 }, { idempotencyKey: 'kept' })],
    ['a conflict', () => there.post({ id: 'kept', n: 2 })],
    ['a ping', () => there.post({ type: 'ping' })],
    ['a body that is not JSON', () => there.post('no JSON')],
    ['an unknown channel', () => there.post({ targetChannels: ['nowhere'] })],
    ['a batch that is too large', () => there.post({ assets: Array.from({ length: 101 }, () => ({})) })],
  ])('is looked up first for %s: once revoked, its next request is 401', async (_, request) => {
    expectWritten(await there.post({ id: 'kept' }, { idempotencyKey: 'kept' }));
    await revoke();
    expectProblem(await request(), 'UNAUTHENTICATED');
  });

  it('is held to the current state of its network: its channels and its limits', async () => {
    const change = (body: object) => setup.admin.send('PATCH', `/networks/${networkId}`, body);
    expectProblem(await there.post({ targetChannels: ['late'] }), 'UNKNOWN_CHANNEL');
    expect((await change({ channels: ['main', 'late'] })).status).toBe(200);
    expectWritten(await there.post({ id: 'a', targetChannels: ['late'] }));
    const limits = { ratePerSecond: 1, burst: 100 };
    expect((await change({ limits })).status).toBe(200);
    const batch = { assets: Array.from({ length: 100 }, (_, n) => ({ n })) };
    const answers = [await there.post(batch), await there.post(batch), await there.post(batch)];
    expect(answers.map(({ status }) => status).slice(1)).toEqual([429, 429]);
  });
});
