import { expect, it } from '@jest/globals';
import type { FabricStage } from './harness/fabric-stage.ts';
import { inParallel } from './harness/in-parallel.ts';
import { canSeeProcesses } from './harness/postgres-processes.ts';
import { residentBytes } from './harness/process-usage.ts';
import { boundMs, scaled } from './harness/scale.ts';

const storyTimeoutMs = scaled({ full: 600_000, quick: 360_000 });
const requests = scaled({ full: 3_000, quick: 384 });
/** Large enough that retained requests stand out from the usual growth of a heap. */
const assetBytes = 512 * 1024;

/** While the network is down senders keep retrying, and their requests must not be retained. */
export function memoryStory(stageOf: () => FabricStage): void {
  (canSeeProcesses ? it : it.skip)(
    'hold no more memory the longer the gateway peer is down',
    async () => {
      const { network, setup, tag } = stageOf();
      const body = (at: number): string =>
        JSON.stringify({ assets: [{ id: `${tag}-heap-${at}`, type: 'asset', data: { x: 'x'.repeat(assetBytes) } }] });
      const askAll = (from: number): Promise<number[]> =>
        inParallel(64, requests, async (at) => {
          const { status } = await setup.ask('POST', '/api/assets', {
            body: body(from + at),
            timeoutMs: boundMs(20_000),
          });
          return status;
        });
      await network.peer.kill();
      // A first round, so that one-time growth has happened.
      await askAll(0);
      const before = residentBytes(setup.peer.pid);
      const statuses = await askAll(requests);
      expect(new Set(statuses)).toEqual(new Set([503]));
      const grewBytes = residentBytes(setup.peer.pid) - before;
      // Retained requests would have grown the heap by at least their size.
      expect(grewBytes).toBeLessThan((requests * assetBytes) / 2);
    },
    storyTimeoutMs,
  );
}
