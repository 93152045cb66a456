import { afterEach, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { DeliveryStore, HeldSubscription } from '../domain/delivery-store.ts';
import { subscriptionWorker, type SubscriptionWorker } from './subscription-worker.ts';

let worker: SubscriptionWorker | undefined;
afterEach(() => worker?.stop());

const heldBy = (subscriptionId: string) =>
  ({ subscription: { subscriptionId }, version: 1 }) as unknown as HeldSubscription;

/** A process that has the leases of `held`, and a clock. Reading fails while `isAway`. */
function open() {
  const world = { held: [heldBy('sub_1')], isAway: true, nowMs: 1_000_000, deliveries: 0, holds: 0 };
  const store: DeliveryStore = {
    ...({} as DeliveryStore),
    async hold() {
      world.holds += 1;
      return world.held;
    },
    count: async () => ({ active: 1, failing: 0, paused: 0, stopped: 0 }),
    release: async () => undefined,
  };
  worker = subscriptionWorker({
    ...{ store, everyMs: 1, now: () => world.nowMs, onFailure: () => undefined },
    async deliver(_held, signal) {
      world.deliveries += 1;
      if (world.isAway) throw new Error('The ledger does not answer.');
      await new Promise((done) => signal.addEventListener('abort', done));
    },
  });
  const turns = async (): Promise<void> => {
    const before = world.holds;
    await until(() => world.holds > before + 1, { what: 'two turns of the worker' });
  };
  return { world, worker, turns };
}

it('tells how long a subscription was not read, until it has been for longer than any read takes', async () => {
  const { world, worker: opened, turns } = open();
  await until(() => world.deliveries > 3, { what: 'repeated deliveries' });
  world.nowMs += 90_000;
  await turns();
  expect(opened.unreadSeconds).toBe(90);

  world.isAway = false;
  const before = world.deliveries;
  await until(() => world.deliveries > before, { what: 'a delivery' });
  world.nowMs += 9_000;
  await turns();
  expect(opened.unreadSeconds).toBe(99);
  world.nowMs += 1_000;
  await turns();
  expect(opened.unreadSeconds).toBe(0);
});

it('leaves a subscription to the process that has it now', async () => {
  const { world, worker: opened, turns } = open();
  await until(() => world.deliveries > 1, { what: 'a delivery' });
  world.nowMs += 90_000;
  world.held = [];
  await turns();
  expect(opened.unreadSeconds).toBe(0);
});
