import { expect, it } from '@jest/globals';
import type { FabricStage } from './harness/fabric-stage.ts';
import { inParallel } from './harness/in-parallel.ts';
import { canSeeProcesses } from './harness/postgres-processes.ts';
import { residentBytes } from './harness/process-usage.ts';
import { scaled } from './harness/scale.ts';

const storyTimeoutMs = scaled({ full: 600_000, quick: 120_000 });
const requests = scaled({ full: 3_000, quick: 384 });
/** So large that what would be kept of each request stands out from what a heap grows by in any case. */
const assetBytes = 512 * 1024;

/** While the network is away senders go on asking, and what they sent must not stay. */
export function memoryStory(stageOf: () => FabricStage): void {
  (canSeeProcesses ? it : it.skip)(
    'hold no more memory the longer the gateway peer is away',
    async () => {
      const { network, setup, tag } = stageOf();
      const body = (at: number): string =>
        JSON.stringify({ assets: [{ id: `${tag}-heap-${at}`, type: 'asset', data: { x: 'x'.repeat(assetBytes) } }] });
      const askAll = (from: number): Promise<number[]> =>
        inParallel(64, requests, async (at) => {
          const { status } = await setup.ask('POST', '/api/assets', { body: body(from + at) });
          return status;
        });
      await network.peer.kill();
      // Once, so that what grows with use alone has grown.
      await askAll(0);
      const before = residentBytes(setup.peer.pid);
      const statuses = await askAll(requests);
      expect(new Set(statuses)).toEqual(new Set([503]));
      const grewBytes = residentBytes(setup.peer.pid) - before;
      // Had it kept them, in whatever form, it would have grown by all they held at the least.
      expect(grewBytes).toBeLessThan((requests * assetBytes) / 2);
    },
    storyTimeoutMs,
  );
}
