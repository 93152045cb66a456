import { backgroundLoop } from '@sealgate/storage';
import type { DeliveryStore, HeldSubscription } from '../domain/delivery-store.ts';

interface SubscriptionWorkerOptions {
  readonly store: DeliveryStore;
  readonly deliver: (held: HeldSubscription, signal: AbortSignal) => Promise<void>;
  /** Interval of renewing leases and taking those of processes that are gone: a third of a lease. */
  readonly everyMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

export interface SubscriptionWorker {
  readonly counts: Awaited<ReturnType<DeliveryStore['count']>>;
  /** How long the events of a subscription of this process could not be read; the longest, 0 if all are. */
  readonly unreadSeconds: number;
  /** Ends deliveries under way, and gives the leases back. */
  stop(): Promise<void>;
}

interface Running {
  readonly held: HeldSubscription;
  readonly beganMs: number;
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

/** Longer than the deadline of any read: what runs for so long reads. */
const READS_AFTER_MS = 10_000;

/** Delivers the subscriptions whose leases this process has. */
export function subscriptionWorker({
  store,
  deliver,
  everyMs,
  now,
  onFailure,
}: SubscriptionWorkerOptions): SubscriptionWorker {
  const running = new Map<string, Running>();
  /** Since when each subscription that is not read has failed. */
  const unreadSinceMs = new Map<string, number>();
  let counts: SubscriptionWorker['counts'] = { active: 0, failing: 0, paused: 0, stopped: 0 };
  const begin = (held: HeldSubscription): void => {
    const { subscriptionId } = held.subscription;
    const stop = new AbortController();
    const over = deliver(held, stop.signal)
      .catch((error: unknown) => {
        if (!unreadSinceMs.has(subscriptionId)) unreadSinceMs.set(subscriptionId, now());
        onFailure(error);
      })
      .finally(() => {
        if (running.get(subscriptionId)?.stop === stop) running.delete(subscriptionId);
      });
    running.set(subscriptionId, { held, stop, over, beganMs: now() });
  };
  const isUnread = (subscriptionId: string): boolean => {
    const beganMs = running.get(subscriptionId)?.beganMs;
    return beganMs === undefined || now() - beganMs < READS_AFTER_MS;
  };
  const end = async (ended: readonly Running[]): Promise<void> => {
    for (const { stop } of ended) stop.abort();
    await Promise.all(ended.map(({ over }) => over));
  };
  const loop = backgroundLoop({
    async work() {
      const held = await store.hold();
      const ours = new Map(held.map((one) => [one.subscription.subscriptionId, one]));
      // Gone, paused, taken by another process after this one was frozen, or changed.
      await end([...running.values()].filter((one) => ours.get(idOf(one))?.version !== one.held.version));
      for (const one of held) if (!running.has(one.subscription.subscriptionId)) begin(one);
      for (const id of unreadSinceMs.keys()) if (!ours.has(id) || !isUnread(id)) unreadSinceMs.delete(id);
      counts = await store.count();
    },
    pauseMs: everyMs,
    onFailure,
  });
  return {
    get counts() {
      return counts;
    },
    get unreadSeconds() {
      const sinceMs = Math.min(now(), ...unreadSinceMs.values());
      return (now() - sinceMs) / 1000;
    },
    async stop() {
      await loop.stop();
      await end([...running.values()]);
      await store.release();
    },
  };
}

const idOf = ({ held }: Running): string => held.subscription.subscriptionId;
