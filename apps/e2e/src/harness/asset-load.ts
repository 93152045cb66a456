import { expect } from '@jest/globals';
import { until } from '@sealgate/testing';
import { deliver, type Asset, type AssetAttempt, type AssetOrder, type Fate } from './asset-orders.ts';
import type { FabricStage, Place } from './fabric-stage.ts';
import type { PeerSetup } from './peer-setup.ts';

interface AssetLoad {
  readonly attempts: readonly AssetAttempt[];
  /** Resolves once this many more orders are known to be written. */
  written(more: number): Promise<void>;
  /** Stops new orders without waiting for running ones: for a failed story. */
  abandon(): void;
  /** Stops new orders, and returns the answers for each asset once all orders are complete. */
  finish(): Promise<readonly Fate[]>;
}

const TYPES = ['asset', 'kept', 'other'];

/** Senders that write assets of every mapping to our contract until they are stopped. */
export function startAssetLoad({
  setup,
  senders,
  prefix,
  giveUpAfterMs = 60_000,
}: {
  readonly setup: PeerSetup;
  /** Concurrent orders. */
  readonly senders: number;
  /** Prefix of ids and Idempotency-Keys. */
  readonly prefix: string;
  /** Options of each order; see `deliver`. */
  readonly giveUpAfterMs?: number;
}): AssetLoad {
  const attempts: AssetAttempt[] = [];
  const fates: Fate[] = [];
  let isFinishing = false;
  let failed: Error | undefined;
  let made = 0;
  let writtenOrders = 0;
  const work = async (): Promise<void> => {
    while (!isFinishing && failed === undefined) {
      const order = orderOf(prefix, made++);
      const answered = await deliver(order, { setup, giveUpAfterMs, onAttempt: (attempt) => attempts.push(attempt) });
      fates.push(...answered);
      if (answered.every((fate) => fate.outcome === 'written')) writtenOrders += 1;
    }
  };
  const workers = Array.from({ length: senders }, () =>
    work().catch((error: unknown) => {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }),
  );
  return {
    attempts,
    async written(more) {
      const goal = writtenOrders + more;
      await until(() => failed !== undefined || writtenOrders >= goal, {
        timeoutMs: 60_000,
        what: `${more} more orders that are written`,
      });
      if (failed !== undefined) throw failed;
    },
    abandon() {
      failed ??= new Error('The story has failed.');
    },
    async finish() {
      isFinishing = true;
      await Promise.all(workers);
      if (failed !== undefined) throw failed;
      return fates;
    },
  };
}

/** Every other order accepts a refusal; the rest is repeated until it is written, or failed for good. */
function orderOf(prefix: string, number: number): AssetOrder {
  const type = TYPES[number % TYPES.length]!;
  const assets = Array.from({ length: 1 + (number % 4) }, (_, at): Asset => ({
    id: `${prefix}-${number}-${at}`,
    type,
    data: { number, at },
  }));
  return { idempotencyKey: `${prefix}-${number}`, assets, takesNo: number % 2 === 0 };
}

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
