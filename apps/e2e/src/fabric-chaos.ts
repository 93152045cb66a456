import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { judgeAssets, startAssetLoad } from './harness/asset-load.ts';
import type { FabricStage } from './harness/fabric-stage.ts';
import { isFull } from './harness/scale.ts';

const rounds = 24;
const senders = 8;
const storyTimeoutMs = 900_000;

/** Random faults one after the other, including kills of the surface's processes. Only in a full run. */
export function chaosStory(stageOf: () => FabricStage): void {
  if (!isFull) return;

  describe('killed repeatedly, on a network that fails as often', () => {
    it(
      'lose nothing, write nothing twice, and report no unknown outcome as failed',
      async () => {
        const stage = stageOf();
        const { setup, network, tag } = stage;
        const load = startAssetLoad({ setup, senders, prefix: `${tag}-chaos-`, giveUpAfterMs: 240_000 });
        const between = (least: number, most: number) => delay(least + Math.random() * (most - least));
        const away = async (strike: () => Promise<void>, heal: () => Promise<void>): Promise<void> => {
          await strike();
          await between(200, 2_500);
          await heal();
        };
        const faults = [
          ...setup.peers.map((peer) => () => away(peer.kill, peer.start)),
          () => away(network.peer.kill, network.peer.start),
          () => away(network.peer.freeze, network.peer.thaw),
          () => away(network.orderer.kill, network.orderer.start),
          () => away(network.orderer.freeze, network.orderer.thaw),
          () => away(network.contract.kill, network.contract.start),
          () => away(network.contract.freeze, network.contract.thaw),
        ];
        const order = Array.from({ length: rounds }, (_, round) => faults[round % faults.length]!)
          .map((fault) => ({ fault, at: Math.random() }))
          .toSorted((one, other) => one.at - other.at);
        for (const { fault } of order) {
          await between(100, 1_500);
          await fault();
        }
        await load.written(20);
        const fates = await load.finish();
        await stage.settled();
        await judgeAssets(stage, `${tag}-chaos-`, fates);
        // The story proves nothing if no request was cut off, refused or delayed.
        const statuses = load.attempts.map(({ answer }) => answer?.status);
        for (const status of [undefined, 200, 202, 503]) expect(statuses).toContain(status);
      },
      storyTimeoutMs,
    );
  });
}
