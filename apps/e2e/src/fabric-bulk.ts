import { expect, it } from '@jest/globals';
import type { FabricStage } from './harness/fabric-stage.ts';
import { inParallel } from './harness/in-parallel.ts';
import type { SyncSummary } from './harness/peer-setup.ts';

const count = 1_000;
const batchSize = 100;
const storyTimeoutMs = 300_000;

export function bulkStory(stageOf: () => FabricStage): void {
  it(
    'write a thousand assets, a hundred in each transaction, and read them back',
    async () => {
      const { setup, tag, settled, network, main } = stageOf();
      const assets = Array.from({ length: count }, (_, number) => ({
        id: `${tag}-bulk-${String(number).padStart(4, '0')}`,
        type: 'asset',
        data: { number },
      }));
      const body = { assets, options: { batchSize } };
      const { status, body: answer } = await setup.ask('POST', '/api/assets', { body, timeoutMs: 60_000 });
      // A slow network may leave some to a job.
      if (status === 200) expect((answer as SyncSummary).transactions).toHaveLength(count / batchSize);
      else expect(status).toBe(202);
      await settled();
      const kept = await network.reader.list(main.fabricChannel, `${main.prefix}${tag}-bulk-`);
      expect([...kept.values()].map(({ data }) => data)).toEqual(assets.map(({ data }) => data));
      // Through the surface every eleventh: of each batch, at other places.
      const some = assets.filter((_, at) => at % 11 === 0);
      const read = await inParallel(8, some.length, async (at) => {
        const { body: asset } = await setup.ask('GET', `/api/assets/${some[at]!.id}?type=asset`);
        return (asset as { data?: object }).data;
      });
      expect(read).toEqual(some.map(({ data }) => data));
    },
    storyTimeoutMs,
  );
}
