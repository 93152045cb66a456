import { until } from '@sealgate/testing';
import { deliver, type Asset, type AssetAttempt, type AssetOrder, type Fate } from './asset-orders.ts';
import type { PeerSetup } from './peer-setup.ts';

export interface AssetLoad {
  readonly attempts: readonly AssetAttempt[];
  /** Resolves once so many more orders than now are known to be written. */
  written(more: number): Promise<void>;
  /** Makes no more orders, and asks for no end of those under way: for a story that has failed. */
  abandon(): void;
  /** Makes no more orders, and gives what was told of each asset once every order has its end. */
  finish(): Promise<readonly Fate[]>;
}

export interface AssetLoadOptions {
  readonly setup: PeerSetup;
  /** Orders under way at a time. */
  readonly senders: number;
  /** Of ids and Idempotency-Keys. */
  readonly prefix: string;
  /** For each order; see `deliver`. */
  readonly giveUpAfterMs?: number;
}

const TYPES = ['asset', 'kept', 'other'];

/** Senders that write assets of their own, of every mapping to our contract, until they are told to end. */
export function startAssetLoad({ setup, senders, prefix, giveUpAfterMs = 60_000 }: AssetLoadOptions): AssetLoad {
  const attempts: AssetAttempt[] = [];
  const fates: Fate[] = [];
  let isFinishing = false;
  let failed: Error | undefined;
  let made = 0;
  let writtenOrders = 0;
  const work = async (): Promise<void> => {
    while (!isFinishing && failed === undefined) {
      const order = orderOf(prefix, made++);
      const told = await deliver(order, { setup, giveUpAfterMs, onAttempt: (attempt) => attempts.push(attempt) });
      fates.push(...told);
      if (told.every((fate) => fate.told === 'written')) writtenOrders += 1;
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

/** Every other order is content with a refusal; the rest is sent until it is written, or failed for good. */
function orderOf(prefix: string, number: number): AssetOrder {
  const type = TYPES[number % TYPES.length]!;
  const assets = Array.from({ length: 1 + (number % 4) }, (_, at): Asset => ({
    id: `${prefix}-${number}-${at}`,
    type,
    data: { number, at },
  }));
  return { idempotencyKey: `${prefix}-${number}`, assets, takesNo: number % 2 === 0 };
}
