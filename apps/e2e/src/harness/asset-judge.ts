import { expect } from '@jest/globals';
import type { Fate } from './asset-orders.ts';
import type { FabricStage, Place } from './fabric-stage.ts';

/**
 * Compares the answers of senders with the ledger itself: each asset reported as written exists once, in the reported
 * transaction, with its content; none that was reported as not written exists; and nothing else exists. Call it when
 * everything is settled. `prefix` is the id prefix of the story.
 */
export async function judgeAssets(stage: FabricStage, prefix: string, fates: readonly Fate[]): Promise<void> {
  const [inMain, inOther] = [
    fates.filter(({ asset }) => asset.type !== 'other'),
    fates.filter(({ asset }) => asset.type === 'other'),
  ];
  await judgePlace(stage, stage.main, { prefix, fates: inMain });
  await judgePlace(stage, stage.other, { prefix, fates: inOther });
}

async function judgePlace(
  { network }: FabricStage,
  { fabricChannel, prefix: before }: Place,
  { prefix, fates }: { prefix: string; fates: readonly Fate[] },
): Promise<void> {
  const kept = await network.reader.list(fabricChannel, before + prefix);
  const reported = fates.flatMap((fate) =>
    fate.outcome === 'written'
      ? [[before + fate.asset.id, before + fate.asset.type, fate.transactionId, 1, fate.asset.data]]
      : [],
  );
  const found = [...kept.values()].map(({ id, type, transactionId, version, data }) => [
    id,
    type,
    transactionId,
    version,
    data,
  ]);
  const byId = (one: unknown[], other: unknown[]): number => (String(one[0]) < String(other[0]) ? -1 : 1);
  expect(found.toSorted(byId)).toEqual(reported.toSorted(byId));
}
