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
      const { setup, tag, settled } = stageOf();
      const assets = Array.from({ length: count }, (_, number) => ({
        id: `${tag}-bulk-${String(number).padStart(4, '0')}`,
        type: 'asset',
        data: { number },
      }));
      let transactions = 0;
      // A slow network may leave some to a job, and those after them to be sent again.
      for (let open = assets; open.length > 0;) {
        const body = { assets: open, options: { batchSize } };
        const { status, body: answer } = await setup.ask('POST', '/api/assets', { body, timeoutMs: 60_000 });
        expect([200, 202]).toContain(status);
        const { failed, pending, transactions: done } = answer as SyncSummary;
        expect(failed.filter(({ code }) => code !== 'NOT_ATTEMPTED')).toEqual([]);
        transactions += done.length + new Set(pending.map(({ transactionId }) => transactionId)).size;
        const left = new Set(failed.map(({ id }) => id));
        open = open.filter(({ id }) => left.has(id));
      }
      expect(transactions).toBe(count / batchSize);
      await settled();
      const read = await inParallel(8, count, async (at) => {
        const { body: asset } = await setup.ask('GET', `/api/assets/${assets[at]!.id}?type=asset`);
        return (asset as { data?: object }).data;
      });
      expect(read).toEqual(assets.map(({ data }) => data));
    },
    storyTimeoutMs,
  );
}
