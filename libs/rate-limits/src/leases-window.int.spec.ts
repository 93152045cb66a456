import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis } from '@sealgate/testing';
import fc from 'fast-check';
import { leasingRedis, type LeasingRedis } from './leases.fixture.ts';
import type { Charge, LeasingStore, LimitState } from './limits.ts';

const often = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: rare });

const steps = fc.array(
  fc.record({
    gapMs: fc.oneof(
      fc.constant(0),
      fc.nat({ max: 40 }),
      fc.integer({ min: 400, max: 600 }),
      fc.integer({ min: 900, max: 1300 }),
    ),
    lateMs: fc.oneof(fc.constant(0), fc.nat({ max: 100 })),
    replica: fc.oneof(fc.constant(0), fc.nat({ max: 2 })),
    key: fc.nat({ max: 1 }),
    requests: fc.integer({ min: 5, max: 60 }),
    // Below 1: a fraction of the network's burst; a few such drain the bucket.
    cost: often(fc.integer({ min: 1, max: 3 }), fc.constantFrom(0.1, 0.3, 0.8)),
    fate: often(fc.constant('answered'), fc.constantFrom('lost', 'crash')),
  }),
  { minLength: 5, maxLength: 40 },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

const limits = fc.record({
  ratePerSecond: fc.integer({ min: 1, max: 3000 }),
  burst: fc.integer({ min: 200, max: 2500 }),
});
type Limits = typeof limits extends fc.Arbitrary<infer One> ? One : never;

interface Admitted {
  readonly atMs: number;
  readonly cost: number;
}

function checkWindows(admitted: readonly Admitted[], { ratePerSecond, burst }: Limits): void {
  for (const [from, first] of admitted.entries()) {
    let sum = 0;
    for (const { atMs, cost } of admitted.slice(from)) {
      sum += cost;
      const windowMs = atMs - first.atMs;
      if (sum * 1000 > burst * 1000 + ratePerSecond * windowMs)
        throw new Error(`${sum} were admitted within ${windowMs} ms.`);
    }
  }
}

describeWithRedis('replicas with leases that crash and whose answers are late or lost', () => {
  let redis: LeasingRedis;
  let leased = 0;
  beforeAll(async () => {
    redis = await leasingRedis();
  });
  afterAll(() => redis.close());

  /** Requests of one turn of the event loop; leased ones are admitted in it, the rest when Redis has answered. */
  async function send(store: LeasingStore, charges: readonly Charge[], { cost, requests }: Admitted & Step) {
    const states: Promise<LimitState | undefined>[] = [];
    for (let n = 0; n < requests; n += 1) {
      const state = store.takeLeased(charges, cost);
      if (state !== undefined) leased += 1;
      states.push(state === undefined ? store.charge(charges, cost).catch(() => undefined) : Promise.resolve(state));
    }
    return Promise.all(states);
  }

  async function history(network: Limits, key: Limits, taken: readonly Step[]): Promise<void> {
    const { clock, replica, hold, lose } = redis.setUp();
    const replicas = [replica(), replica(), replica()];
    const startMs = clock.now();
    const ofNetwork: Admitted[] = [];
    const ofKeys: readonly Admitted[][] = [[], []];
    for (const step of taken) {
      clock.advance(step.gapMs);
      lose(step.fate === 'lost');
      const answer = hold();
      const charges: Charge[] = [
        { bucket: 'n', policy: { name: 'network', ...network } },
        { bucket: `k${step.key}`, policy: { name: 'key', ...key } },
      ];
      const cost = step.cost < 1 ? Math.ceil(network.burst * step.cost) : step.cost;
      const one = { atMs: clock.now() - startMs, cost };
      const sent = send(replicas[step.replica]!, charges, { ...step, ...one });
      await redis.settle();
      clock.advance(step.lateMs);
      answer();
      const admitted = (await sent).filter((state) => state?.admitted === true).map(() => one);
      ofNetwork.push(...admitted);
      ofKeys[step.key]!.push(...admitted);
      await redis.settle();
      if (step.fate === 'crash') replicas[step.replica] = replica();
    }
    checkWindows(ofNetwork, network);
    for (const ofKey of ofKeys) checkWindows(ofKey, key);
  }

  it('never admit more than burst + rate * T in any window of a random history', async () => {
    await fc.assert(fc.asyncProperty(limits, limits, steps, history), { numRuns: 150 });
    // Otherwise the test did not exercise leases.
    expect(leased).toBeGreaterThan(1000);
  }, 120_000);
});
