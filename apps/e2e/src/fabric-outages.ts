import { describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { judgeAssets, startAssetLoad } from './harness/asset-load.ts';
import { jobResult } from './harness/asset-orders.ts';
import type { FabricStage } from './harness/fabric-stage.ts';
import type { SyncSummary } from './harness/peer-setup.ts';
import { boundMs, scaled } from './harness/scale.ts';

const strikes = scaled({ full: 4, quick: 1 });
const senders = 6;
const storyTimeoutMs = scaled({ full: 600_000, quick: 180_000 });
/** The deadlines of the stage: the check of an earlier attempt, and the row of a job. */
const answeredWithinMs = boundMs(6_000);

interface Strike {
  readonly strike: () => Promise<void>;
  /** Receives the number of earlier strikes. */
  readonly during: (number: number) => Promise<void>;
  readonly heal: () => Promise<void>;
}

/** Faults of the network while senders go on. */
export function outageStories(stageOf: () => FabricStage): void {
  let stories = 0;
  const newStory = (name: string): string => `${stageOf().tag}-${name}-${(stories += 1)}-`;
  const probe = (name: string) => ({ id: `${stageOf().tag}-probe-${stories}-${name}`, type: 'asset', data: {} });
  const push = (assets: readonly object[]) =>
    stageOf().setup.ask('POST', '/api/assets', { body: { assets, options: { continueOnError: true } } });

  /** Keeps up the load while something is down, then compares all answers with the ledger. */
  async function survive(name: string, { strike, during, heal }: Strike): Promise<void> {
    const stage = stageOf();
    const prefix = newStory(name);
    const load = startAssetLoad({ setup: stage.setup, senders, prefix });
    try {
      await load.written(10);
      for (let number = 0; number < strikes; number += 1) {
        await strike();
        await during(number);
        await heal();
        await load.written(10);
      }
    } catch (error) {
      load.abandon();
      throw error;
    }
    const fates = await load.finish();
    await stage.settled();
    await judgeAssets(stage, prefix, fates);
    const tookMs = load.attempts.map(({ startedMs, endedMs }) => endedMs - startedMs);
    expect(Math.max(...tookMs)).toBeLessThan(answeredWithinMs);
    // The story proves nothing if no sender was affected.
    expect(load.attempts.filter(({ answer }) => answer?.status !== 200).length).toBeGreaterThan(0);
  }

  async function expectAway({ setup, tag }: FabricStage, knownId: string): Promise<void> {
    const answers = await Promise.all([
      setup.ask('GET', `/api/assets/${knownId}`),
      setup.ask('GET', `/api/assets/${tag}-absent`),
      setup.ask('POST', '/api/assets/query', { body: { type: 'asset' } }),
    ]);
    for (const answer of answers) {
      expectProblem(answer, 'LEDGER_UNAVAILABLE');
      expect(answer.durationMs).toBeLessThan(answeredWithinMs);
    }
    for (const { ops, public: open } of setup.peers) {
      await until(async () => (await ops.send({ path: '/health/ready' })).status === 503);
      const { body } = await ops.send({ path: '/health/ready' });
      // Where a peer hangs, either the driver's deadline or that of the check expires first.
      const reason = expect.stringMatching(
        /^(no gateway peer answers|nobody listens at the port of the peer|the ledger does not answer in time)/,
      );
      expect(body).toMatchObject({ status: 'unhealthy', reason });
      expect((await open.send({ path: '/health/live' })).text).toBe('{"status":"alive"}');
    }
  }

  describe('under load', () => {
    it.each([
      ['is away', 'kill', 'start'],
      ['hangs', 'freeze', 'thaw'],
    ] as const)(
      'report it while the gateway peer %s, and go on without a restart once it is back',
      async (_how, strike, heal) => {
        const { setup, network, ...stage } = stageOf();
        const known = probe(`known-${strike}`);
        expect((await push([known])).body).toMatchObject({ succeeded: [known.id] });
        const never = probe(`never-${strike}`);
        await survive(`peer-${strike}`, {
          strike: network.peer[strike],
          async during() {
            await expectAway({ ...stage, setup, network }, known.id);
            expectProblem(await push([never]), 'LEDGER_UNAVAILABLE');
          },
          heal: network.peer[heal],
        });
        expect((await setup.ask('GET', `/api/assets/${known.id}`)).status).toBe(200);
        expectProblem(await setup.ask('GET', `/api/assets/${never.id}`), 'NOT_FOUND');
        await until(async () => (await setup.peer.ops.send({ path: '/health/ready' })).status === 200);
      },
      storyTimeoutMs,
    );

    it(
      'promise an answer while the orderer is down, also for what it had accepted and lost',
      async () => {
        const stage = stageOf();
        const promised: { location: string; transactionId: string; id: string }[] = [];
        await survive('orderer', {
          strike: stage.network.orderer.kill,
          async during(number) {
            const asset = probe(`promised-${number}`);
            const answer = await push([asset]);
            expect(answer.status).toBe(202);
            const { pending, succeeded, failed } = answer.body as SyncSummary;
            expect({ succeeded, failed }).toEqual({ succeeded: [], failed: [] });
            expect(pending).toEqual([{ id: asset.id, index: 0, transactionId: expect.any(String) }]);
            promised.push({ ...pending[0]!, location: String(answer.headers['location']) });
          },
          heal: stage.network.orderer.start,
        });
        for (const { id, location, transactionId } of promised) {
          const result = await jobResult(location, stage, performance.now() + 30_000);
          expect(result).toMatchObject({ succeeded: [id], pending: [], transactionIds: [transactionId] });
        }
      },
      storyTimeoutMs,
    );

    it(
      'lose nothing that an orderer held back silently',
      async () => {
        const { orderer } = stageOf().network;
        await survive('held', {
          strike: orderer.freeze,
          during: async (number) => expect((await push([probe(`held-${number}`)])).status).toBe(202),
          heal: orderer.thaw,
        });
      },
      storyTimeoutMs,
    );

    it(
      'write nothing while the contract is down, and report that nothing was sent',
      async () => {
        const { network, setup } = stageOf();
        await survive('contract', {
          strike: network.contract.kill,
          during: async (number) => expectProblem(await push([probe(`dead-${number}`)]), 'LEDGER_UNAVAILABLE'),
          heal: network.contract.start,
        });
        expectProblem(await setup.ask('GET', `/api/assets/${probe('dead-0').id}`), 'NOT_FOUND');
      },
      storyTimeoutMs,
    );
  });
}
