import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Charge, LimitState, LimitStore, Policy } from './limits.ts';

/** A store under test, on a clock that the test advances. */
interface StoreUnderTest {
  readonly store: LimitStore;
  advance(ms: number): void;
  close(): Promise<void>;
}

const key: Policy = { name: 'key', ratePerSecond: 20, burst: 100 };
const network: Policy = { name: 'network', ratePerSecond: 1000, burst: 2000 };

/** The contract of every LimitStore. */
export function limitStoreContract({
  open,
  runs,
}: {
  readonly open: () => Promise<StoreUnderTest>;
  /** Number of random histories. */
  readonly runs: number;
}): void {
  let tested: StoreUnderTest;
  let opened = 0;
  beforeAll(async () => {
    tested = await open();
  });
  afterAll(() => tested.close());

  /** Every test has buckets of its own. */
  const fresh = (name = 'b'): string => `${name}-${(opened += 1)}`;
  const charge = (charges: readonly Charge[], cost: number): Promise<LimitState> => tested.store.charge(charges, cost);

  describe('one bucket', () => {
    it('admits the burst at once, then refuses with the time until there is room', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      expect(await charge(charges, 1)).toEqual({
        admitted: true,
        policy: key,
        remaining: 99,
        resetSeconds: 1,
        retryAfterSeconds: 0,
      });
      expect(await charge(charges, 99)).toMatchObject({ admitted: true, remaining: 0, resetSeconds: 5 });
      expect(await charge(charges, 30)).toEqual({
        admitted: false,
        policy: key,
        remaining: 0,
        resetSeconds: 2,
        retryAfterSeconds: 2,
      });
    });

    it('fills by its rate, to the microsecond', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      await charge(charges, 100);
      tested.advance(49);
      expect(await charge(charges, 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
      tested.advance(1);
      expect(await charge(charges, 1)).toMatchObject({ admitted: true, remaining: 0 });
      tested.advance(5000);
      expect(await charge(charges, 0)).toMatchObject({ admitted: true, remaining: 100, resetSeconds: 0 });
    });

    it('takes nothing for a refusal or a cost of 0', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      await charge(charges, 60);
      expect(await charge(charges, 41)).toMatchObject({ admitted: false, remaining: 40 });
      expect(await charge(charges, 0)).toMatchObject({ admitted: true, remaining: 40 });
      expect(await charge(charges, 40)).toMatchObject({ admitted: true, remaining: 0 });
      expect(await charge(charges, 0)).toMatchObject({ admitted: true, remaining: 0, retryAfterSeconds: 0 });
    });

    it('never admits a cost above its burst', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      expect(await charge(charges, 101)).toMatchObject({ admitted: false, remaining: 100, retryAfterSeconds: 5 });
      tested.advance(1_000_000);
      expect(await charge(charges, 101)).toMatchObject({ admitted: false, remaining: 100, retryAfterSeconds: 5 });
    });

    it('applies a changed policy to earlier use', async () => {
      const bucket = fresh();
      await charge([{ bucket, policy: key }], 60);
      const smaller: Policy = { name: 'key', ratePerSecond: 10, burst: 50 };
      expect(await charge([{ bucket, policy: smaller }], 1)).toMatchObject({
        admitted: false,
        policy: smaller,
        remaining: 0,
        retryAfterSeconds: 2,
      });
      expect(await charge([{ bucket, policy: { ...key, burst: 200 } }], 140)).toMatchObject({ admitted: true });
    });

    it('drains nothing while time goes backwards, and does not wait for a time far ahead', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      tested.advance(3_600_000);
      await charge(charges, 100);
      tested.advance(-3_600_000);
      expect(await charge(charges, 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
      const other = [{ bucket: fresh(), policy: key }];
      await charge(other, 100);
      tested.advance(-1000);
      await charge(other, 0);
      tested.advance(1100);
      expect(await charge(other, 2)).toMatchObject({ admitted: true });
    });

    it.each(['', 'a b', 'c\nd', '"quoted"', 'ünï-☃', '2001:db8::/64'])('accepts %j as a name', async (name) => {
      const charges = [{ bucket: fresh(name), policy: key }];
      await charge(charges, 100);
      expect(await charge(charges, 1)).toMatchObject({ admitted: false });
    });
  });

  describe('several buckets', () => {
    it('takes from all or from none', async () => {
      const wide = { bucket: fresh(), policy: network };
      const narrow = { bucket: fresh(), policy: key };
      expect(await charge([wide, narrow], 100)).toMatchObject({ admitted: true, policy: key, remaining: 0 });
      expect(await charge([wide, narrow], 1)).toMatchObject({ admitted: false, policy: key });
      expect(await charge([narrow, wide], 1)).toMatchObject({ admitted: false, policy: key });
      expect(await charge([wide], 0)).toMatchObject({ remaining: 1900 });
    });

    it('reports the least remaining, the first of several', async () => {
      const first = { bucket: fresh(), policy: { ...network, burst: 10 } };
      const second = { bucket: fresh(), policy: { ...key, burst: 10 } };
      expect(await charge([first, second], 4)).toMatchObject({ policy: first.policy, remaining: 6 });
      await charge([second], 1);
      expect(await charge([first, second], 1)).toMatchObject({ policy: second.policy, remaining: 4 });
    });

    it('reports the longest wait of those that refuse', async () => {
      const slow = { bucket: fresh(), policy: { ...network, ratePerSecond: 1, burst: 10 } };
      const fast = { bucket: fresh(), policy: { ...key, ratePerSecond: 10, burst: 5 } };
      await charge([slow], 9);
      await charge([fast], 5);
      expect(await charge([slow, fast], 5)).toMatchObject({
        admitted: false,
        policy: fast.policy,
        retryAfterSeconds: 4,
      });
    });
  });

  describe('many at once', () => {
    it('decides charges of one tick in order', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      const states = await Promise.all([60, 60, 40, 1].map((cost) => charge(charges, cost)));
      expect(states.map(({ admitted }) => admitted)).toEqual([true, false, true, false]);
      expect(states.map(({ remaining }) => remaining)).toEqual([40, 40, 0, 0]);
    });

    it('keeps the order over more charges than one call carries, and buckets separate', async () => {
      const charges = [{ bucket: fresh(), policy: key }];
      const others = Array.from({ length: 700 }, () => [{ bucket: fresh(), policy: key }]);
      const states = await Promise.all(others.flatMap((other) => [charge(charges, 1), charge(other, 1)]));
      const same = states.filter((_, index) => index % 2 === 0).map(({ admitted }) => admitted);
      expect(same).toEqual(Array.from({ length: 700 }, (_, index) => index < 100));
      expect(states.filter((_, index) => index % 2 === 1).every(({ remaining }) => remaining === 99)).toBe(true);
    });
  });

  it.each<[string, readonly Charge[], number]>([
    ['no bucket', [], 1],
    ['nine buckets', Array.from({ length: 9 }, (_, index) => ({ bucket: `n${index}`, policy: key })), 1],
    [
      'one bucket twice',
      [
        { bucket: 'x', policy: key },
        { bucket: 'x', policy: network },
      ],
      1,
    ],
    ['a negative cost', [{ bucket: 'x', policy: key }], -1],
    ['a part of one', [{ bucket: 'x', policy: key }], 0.5],
    ['a cost without end', [{ bucket: 'x', policy: key }], 1_000_001],
    ['a rate of 0', [{ bucket: 'x', policy: { ...key, ratePerSecond: 0 } }], 1],
    ['a rate of 0.5', [{ bucket: 'x', policy: { ...key, ratePerSecond: 0.5 } }], 1],
    ['a burst of 0', [{ bucket: 'x', policy: { ...key, burst: 0 } }], 1],
    ['a burst above 1,000,000', [{ bucket: 'x', policy: { ...key, burst: 1_000_001 } }], 1],
  ])('rejects %s as a bug of the caller', async (_title, charges, cost) => {
    await expect(charge(charges, cost)).rejects.toThrow(RangeError);
  });

  it('never admits more than burst + rate * T over any window of a random history', async () => {
    const steps = fc.array(fc.tuple(fc.nat({ max: 400 }), fc.integer({ min: 1, max: 12 })), { maxLength: 25 });
    const rates = fc.integer({ min: 1, max: 40 });
    await fc.assert(
      fc.asyncProperty(rates, fc.integer({ min: 1, max: 20 }), steps, async (ratePerSecond, burst, history) => {
        const charges = [{ bucket: fresh(), policy: { name: 'key' as const, ratePerSecond, burst } }];
        const admitted: { atMs: number; cost: number }[] = [];
        let nowMs = 0;
        for (const [gapMs, cost] of history) {
          nowMs += gapMs;
          tested.advance(gapMs);
          if ((await charge(charges, cost)).admitted) admitted.push({ atMs: nowMs, cost });
        }
        for (const [start, first] of admitted.entries()) {
          let sum = 0;
          for (const last of admitted.slice(start)) {
            sum += last.cost;
            expect(sum * 1000).toBeLessThanOrEqual(burst * 1000 + ratePerSecond * (last.atMs - first.atMs));
          }
        }
      }),
      { numRuns: runs },
    );
  });
}
