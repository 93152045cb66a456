import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Bucket } from './gcra.ts';
import { gcra, meterOf, microsUntilFull, usedAt } from './gcra.ts';
import type { LimitState, Policy } from './limits.ts';

const policies = fc.record({
  name: fc.constant('key' as const),
  ratePerSecond: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000_000 })),
  burst: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000_000 })),
});
const replicaCounts = fc.constantFrom(1, 2, 3, 7, 1000);

/** One bucket with a clock in microseconds. */
function bucketOf(policy: Policy, replicas = 1) {
  const meter = meterOf(policy, replicas);
  let bucket: Bucket = { used: 0, atMicros: 0 };
  return (nowMicros: number, cost: number): LimitState => {
    const used = usedAt(bucket, meter, nowMicros);
    const state = gcra([{ meter, used }], cost);
    if (state.admitted) bucket = { used: used + cost * meter.unitsPerToken, atMicros: nowMicros };
    return state;
  };
}

/** Gaps in microseconds: none, about one interval, about one burst, or any. */
function gapsOf({ ratePerSecond, burst }: Policy): fc.Arbitrary<number> {
  const interval = Math.ceil(1_000_000 / ratePerSecond);
  const fill = Math.ceil((burst * 1_000_000) / ratePerSecond);
  return fc.oneof(
    fc.constant(0),
    fc.integer({ min: Math.max(0, interval - 2), max: interval + 2 }),
    fc.integer({ min: 0, max: fill + 2 }),
    fc.integer({ min: 0, max: 10_000_000 }),
  );
}

const histories = policies.chain((policy) =>
  fc.record({
    policy: fc.constant(policy),
    steps: fc.array(fc.tuple(gapsOf(policy), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: policy.burst }))), {
      minLength: 1,
      maxLength: 60,
    }),
  }),
);

describe('gcra', () => {
  it('admits at most burst + rate * T in any window, to the last unit', () => {
    fc.assert(
      fc.property(histories, replicaCounts, ({ policy, steps }, replicas) => {
        const charge = bucketOf(policy, replicas);
        const admitted: { atMicros: bigint; cost: bigint }[] = [];
        let nowMicros = 0;
        for (const [gapMicros, cost] of steps) {
          nowMicros += gapMicros;
          if (charge(nowMicros, cost).admitted) admitted.push({ atMicros: BigInt(nowMicros), cost: BigInt(cost) });
        }
        const unit = 1_000_000n * BigInt(replicas);
        for (const [start, first] of admitted.entries()) {
          let sum = 0n;
          for (const last of admitted.slice(start)) {
            sum += last.cost;
            const allowed =
              BigInt(policy.burst) * unit + BigInt(policy.ratePerSecond) * (last.atMicros - first.atMicros);
            expect(sum * unit <= allowed).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('refuses only what would exceed that bound', () => {
    fc.assert(
      fc.property(histories, ({ policy, steps }) => {
        const charge = bucketOf(policy);
        const admitted: { atMicros: number; cost: number }[] = [];
        let nowMicros = 0;
        for (const [gapMicros, cost] of steps) {
          nowMicros += gapMicros;
          const breaks = admitted.some((first, start) => {
            const sum = admitted.slice(start).reduce((total, step) => total + step.cost, cost);
            const allowed = policy.burst * 1_000_000 + policy.ratePerSecond * (nowMicros - first.atMicros);
            return sum * 1_000_000 > allowed;
          });
          expect(charge(nowMicros, cost).admitted).toBe(!breaks);
          if (!breaks) admitted.push({ atMicros: nowMicros, cost });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('reports when to retry: then it is admitted, a second earlier it is not', () => {
    fc.assert(
      fc.property(histories, replicaCounts, ({ policy, steps }, replicas) => {
        const charge = bucketOf(policy, replicas);
        let nowMicros = 0;
        for (const [gapMicros, cost] of steps) {
          nowMicros += gapMicros;
          const { admitted, retryAfterSeconds } = charge(nowMicros, cost);
          if (admitted) continue;
          expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
          nowMicros += (retryAfterSeconds - 1) * 1_000_000;
          if (retryAfterSeconds > 1) expect(charge(nowMicros, cost).admitted).toBe(false);
          nowMicros += 1_000_000;
          expect(charge(nowMicros, cost).admitted).toBe(true);
        }
      }),
    );
  });

  it('always refuses a cost above the burst, with the time the bucket takes to fill', () => {
    fc.assert(
      fc.property(policies, fc.nat({ max: 1e12 }), fc.integer({ min: 1, max: 1000 }), (policy, nowMicros, excess) => {
        const { ratePerSecond, burst } = policy;
        const state = bucketOf(policy)(nowMicros, burst + excess);
        const fillSeconds = Math.ceil(burst / ratePerSecond);
        expect(state).toEqual({
          admitted: false,
          policy,
          remaining: burst,
          resetSeconds: fillSeconds,
          retryAfterSeconds: fillSeconds,
        });
      }),
    );
  });

  it('reports the bucket with the least remaining, the first of several, and the longest wait of all', () => {
    const network = meterOf({ name: 'network', ratePerSecond: 1, burst: 10 });
    const key = meterOf({ name: 'key', ratePerSecond: 5, burst: 10 });
    const even = gcra(
      [
        { meter: network, used: 0 },
        { meter: key, used: 0 },
      ],
      4,
    );
    expect(even).toMatchObject({ admitted: true, policy: network.policy, remaining: 6, resetSeconds: 4 });
    const tighter = gcra(
      [
        { meter: network, used: 2_000_000 },
        { meter: key, used: 3_500_000 },
      ],
      4,
    );
    expect(tighter).toMatchObject({ admitted: true, policy: key.policy, remaining: 2, resetSeconds: 2 });
    const refused = gcra(
      [
        { meter: network, used: 9_000_000 },
        { meter: key, used: 10_000_000 },
      ],
      3,
    );
    expect(refused).toEqual({
      admitted: false,
      policy: key.policy,
      remaining: 0,
      resetSeconds: 2,
      retryAfterSeconds: 2,
    });
  });

  it('reports the state for a cost of 0, even of a bucket overdrawn by a smaller burst', () => {
    const meter = meterOf({ name: 'key', ratePerSecond: 2, burst: 3 });
    expect(gcra([{ meter, used: 5_000_000 }], 0)).toMatchObject({ admitted: true, remaining: 0, resetSeconds: 3 });
    expect(gcra([{ meter, used: 0 }], 0)).toMatchObject({ admitted: true, remaining: 3, resetSeconds: 0 });
  });

  it('throws without a bucket', () => {
    expect(() => gcra([], 1)).toThrow(RangeError);
  });
});

describe('usedAt', () => {
  const meter = meterOf({ name: 'key', ratePerSecond: 3, burst: 1 });

  it('drains exactly the rate per microsecond, never below 0', () => {
    expect(usedAt({ used: 1_000_000, atMicros: 0 }, meter, 333_333)).toBe(1);
    expect(usedAt({ used: 1_000_000, atMicros: 0 }, meter, 333_334)).toBe(0);
    expect(microsUntilFull(1_000_000, meter)).toBe(333_334);
  });

  it('treats time that goes backwards as no time', () => {
    expect(usedAt({ used: 7, atMicros: 1000 }, meter, 0)).toBe(7);
  });
});
