import { describe, expect, it } from '@jest/globals';
import { deliver, type AssetOrder, type Fate } from './harness/asset-orders.ts';
import type { FabricStage } from './harness/fabric-stage.ts';
import { scaled } from './harness/scale.ts';

const storyTimeoutMs = 180_000;
const writers = scaled({ full: 100, quick: 16 });
const creates = 1000;
const contested = 10;

/** Repeats a request answered "not written, try again" (overtaken by others until its timeout), as a sender should. */
async function insist(send: (attempt: number) => Promise<Fate[]>): Promise<Fate> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const [fate] = await send(attempt);
    if (fate?.outcome === 'written' || fate?.code === 'RECORD_CONFLICT') return fate;
  }
  throw new Error('A sender was overtaken fifty times.');
}

/** Many concurrent writers of the same asset. */
export function contentionStories(stageOf: () => FabricStage): void {
  const orderOf = (key: string, asset: AssetOrder['assets'][number]): AssetOrder => ({
    idempotencyKey: `${stageOf().tag}-${key}`,
    assets: [asset],
    takesNo: false,
  });

  describe('asked by many concurrently', () => {
    it(
      'keep every version of one asset, each once, and reads return the newest',
      async () => {
        const { tag, setup, main, network } = stageOf();
        const id = `${tag}-storm`;
        const writeAs = (writer: number): Promise<Fate> =>
          insist((attempt) => {
            const order = orderOf(`storm-${writer}-${attempt}`, { id, type: 'kept', data: { writer } });
            return deliver(order, { setup });
          });
        const fates = await Promise.all(Array.from({ length: writers }, (_, writer) => writeAs(writer)));
        const versions = await network.reader.history(main.fabricChannel, main.prefix + id);
        expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: writers }, (_, at) => at + 1));
        const pair = (transactionId: string, data: unknown): string => `${transactionId} ${JSON.stringify(data)}`;
        expect(versions.map(({ transactionId, data }) => pair(transactionId, data)).toSorted()).toEqual(
          fates.map((fate) => pair(fate.outcome === 'written' ? fate.transactionId : '', fate.asset.data)).toSorted(),
        );
        const newest = versions.at(-1);
        expect((await setup.ask('GET', `/api/assets/${id}`)).body).toMatchObject({
          id,
          version: writers,
          data: newest?.data,
          transactionId: newest?.transactionId,
        });
      },
      storyTimeoutMs,
    );

    it(
      'let one content win for each of ten ids, requested a thousand times at two processes',
      async () => {
        const { tag, setup, main, network } = stageOf();
        const contents = ['one', 'other'];
        const fates = await Promise.all(
          Array.from({ length: creates }, async (_, at): Promise<Fate> => {
            const id = `${tag}-wanted-${at % contested}`;
            const content = contents[Math.floor(at / contested) % 2]!;
            const peer = setup.peers[Math.floor(at / (2 * contested)) % 2]!;
            const order = { assets: [{ id, type: 'asset', data: { content } }], takesNo: false };
            return insist(() => deliver(order, { setup, peers: [peer], giveUpAfterMs: 120_000 }));
          }),
        );
        const kept = await network.reader.list(main.fabricChannel, `${main.prefix}${tag}-wanted-`);
        expect(kept.size).toBe(contested);
        for (const fate of fates) {
          const record = kept.get(main.prefix + fate.asset.id);
          const isWinner = JSON.stringify(record?.data) === JSON.stringify(fate.asset.data);
          expect({ outcome: fate.outcome, by: fate.outcome === 'written' ? fate.transactionId : fate.code }).toEqual(
            isWinner
              ? { outcome: 'written', by: record?.transactionId }
              : { outcome: 'not written', by: 'RECORD_CONFLICT' },
          );
        }
        expect(fates.filter(({ outcome }) => outcome === 'written')).toHaveLength(creates / 2);
      },
      storyTimeoutMs,
    );
  });
}
