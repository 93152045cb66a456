import { testClock, throwawayRedis } from '@sealgate/testing';
import { Redis } from 'ioredis';
import type { Charge, LeasingStore, LimitState } from './limits.ts';
import { redisLimits } from './redis-limits.ts';

/** A throwaway Redis on which `setUp` makes replicas. */
export async function leasingRedis() {
  const server = await throwawayRedis();
  const client = new Redis(server.url, { lazyConnect: true, enableOfflineQueue: false });
  client.on('error', () => undefined);
  await client.connect();
  let opened = 0;

  /** Replicas on one clock, with a way to delay or lose their answers. */
  function setUp() {
    const clock = testClock();
    const prefix = `leases:${(opened += 1)}:`;
    let fate: 'answered' | 'lost' = 'answered';
    let gate: Promise<unknown> = Promise.resolve();
    const evalsha = async (...args: Parameters<Redis['evalsha']>): Promise<unknown> => {
      const [ofCall, gateOfCall] = [fate, gate];
      const answer = await client.evalsha(...args);
      await gateOfCall;
      if (ofCall === 'lost') throw new Error('The connection was lost.');
      return answer;
    };
    const between: Redis = Object.create(client, { evalsha: { value: evalsha } });
    const replica = () => redisLimits({ client: between, prefix, now: clock.now, timeoutMs: 5000 });
    const calls = async (): Promise<number> => {
      const stats = await client.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const hold = () => {
      let open: (value?: unknown) => void = () => undefined;
      gate = new Promise((resolve) => (open = resolve));
      return open;
    };
    const lose = (isLost: boolean): void => {
      fate = isLost ? 'lost' : 'answered';
    };
    return { clock, prefix, replica, calls, hold, lose };
  }

  /** Sends what is due in the background and receives the answers. */
  const settle = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    await client.ping();
  };

  /** Uses a bucket until it is leased. */
  const warm = async (store: LeasingStore, charges: readonly Charge[], requests = 40): Promise<void> => {
    await Promise.all(Array.from({ length: requests }, () => decide(store, charges)));
    await settle();
    await settle();
  };
  const close = async (): Promise<void> => {
    client.disconnect();
    await server.stop();
  };
  return { client, setUp, settle, warm, close };
}

export type LeasingRedis = Awaited<ReturnType<typeof leasingRedis>>;

/** One charge, as `sharedLimits` makes it. */
export const decide = async (store: LeasingStore, charges: readonly Charge[], cost = 1): Promise<LimitState> =>
  store.takeLeased(charges, cost) ?? store.charge(charges, cost);

/** How many charges of 1 a replica admits from its leases. */
export function spend(store: LeasingStore, charges: readonly Charge[]): number {
  let spent = 0;
  while (store.takeLeased(charges, 1) !== undefined) spent += 1;
  return spent;
}
