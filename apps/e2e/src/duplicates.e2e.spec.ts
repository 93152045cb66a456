import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import { expectWritten } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { inParallel } from './harness/in-parallel.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const keys = scaled({ full: 5_000, quick: 1_000 });
const underWay = 32;
const storyTimeoutMs = 120_000;

describeWithRedis('The same request sent twice concurrently, to two processes', () => {
  let setup: ContractSetup;
  let networkId: string;
  let targets: readonly [Sender, Sender];
  beforeAll(async () => {
    setup = await sharedSetup();
    // The first requests run uncompiled code; warm-up is not the subject here.
    await useNetwork();
    await sendAll({ count: 500, isTwice: () => true });
    await useNetwork();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  async function useNetwork(): Promise<void> {
    networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const [one, two] = setup.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
    targets = [one!, two!];
  }

  interface Sent {
    readonly answers: readonly HttpAnswer[][];
    readonly tookMs: number;
  }

  /** Sends each key once or twice concurrently, a few keys at a time. Returns the answers by key. */
  async function sendAll(options: {
    count: number;
    isTwice: (number: number) => boolean;
    bodyOf?: (number: number, copy: number) => unknown;
  }): Promise<Sent> {
    const { count, isTwice, bodyOf = (number) => ({ number }) } = options;
    const startedMs = performance.now();
    const answers = await inParallel(underWay, count, (number) => {
      const copies = isTwice(number) ? [0, 1] : [0];
      const how = { idempotencyKey: `twice-${number}` };
      return Promise.all(copies.map((copy) => targets[(number + copy) % 2]!.post(bodyOf(number, copy), how)));
    });
    return { answers, tookMs: performance.now() - startedMs };
  }

  /** Of two, one is processed; the other gets the same answer, or 409 in time. */
  function expectOneWinner(answers: readonly HttpAnswer[]): void {
    const won = answers.filter(({ status }) => status === 200);
    expect(won.length).toBeGreaterThan(0);
    expect(new Set(won.map(({ text }) => text)).size).toBe(1);
    expect(won.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status !== 200) expectProblem(answer, 'IDEMPOTENCY_IN_PROGRESS', { retryAfterSeconds: 1 });
      if (answers.length > 1) expect(answer.durationMs).toBeLessThan(boundMs(300));
    }
  }

  async function judge(answers: readonly HttpAnswer[]): Promise<void> {
    const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
    const { admin, folder, verifierKey } = setup;
    const channel = `${networkId}.main`;
    const size = await judgeLog({
      admin,
      channel,
      folder,
      verifierKey,
      answers: texts,
      savedFolders: setup.checkpointFolders,
    });
    expect(size).toBe(keys);
    expect(await ledgerSize(admin, channel)).toBe(keys);
  }

  it.each([
    ['one in a hundred', (number: number) => number % 100 === 0],
    ['all of them', () => true],
  ])(
    'is written once: %s twice',
    async (_which, isTwice) => {
      await useNetwork();
      const { answers, tookMs } = await sendAll({ count: keys, isTwice });
      for (const answersOfKey of answers) expectOneWinner(answersOfKey);
      expect(tookMs).toBeLessThan(boundMs(5_000));
      await judge(answers.flat());
    },
    storyTimeoutMs,
  );

  it(
    'with another body is refused, in either order',
    async () => {
      await useNetwork();
      const bodyOf = (number: number, copy: number): unknown => ({ number, copy });
      const { answers } = await sendAll({ count: keys, isTwice: () => true, bodyOf });
      for (const pair of answers) {
        expect(pair.map(({ status }) => status).toSorted()).toEqual([200, 422]);
        expectProblem(
          pair.find(({ status }) => status === 422)!,
          'IDEMPOTENCY_KEY_REUSED',
        );
      }
      await judge(answers.flat());
    },
    storyTimeoutMs,
  );

  it('with one id and different content leaves one record, and does not affect its neighbours', async () => {
    await useNetwork();
    const neighbours = 40;
    const rivals = 10;
    const answers = await Promise.all([
      ...Array.from({ length: neighbours }, (_, n) => targets[n % 2]!.post({ id: `neighbour-${n}` })),
      ...Array.from({ length: rivals }, (_, n) =>
        targets[n % 2]!.post({ assets: [{ id: `with-${n}` }, { id: 'one', data: { n } }] }),
      ),
    ]);
    for (const answer of answers.slice(0, neighbours)) expectWritten(answer);
    const rival = answers.slice(neighbours);
    expect(rival.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of rival.filter(({ status }) => status !== 200)) expectProblem(answer, 'RECORD_CONFLICT');
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(neighbours + 2);
  });

  it('without an Idempotency-Key but with an id is one record, and both get its receipt', async () => {
    await useNetwork();
    for (let round = 0; round < 50; round += 1) {
      const both = await Promise.all(targets.map((target) => target.post({ id: `id-${round}`, round })));
      const [one, two] = both.map((answer) => expectWritten(answer).records[0]!);
      expect(one!.leafHash).toBe(two!.leafHash);
      expect([one!.existing, two!.existing].filter((existing) => existing === true)).toHaveLength(1);
    }
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(50);
  });
});
