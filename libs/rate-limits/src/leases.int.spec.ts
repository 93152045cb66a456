import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWithRedis } from '@sealgate/testing';
import { decide, leasingRedis, spend, type LeasingRedis } from './leases.fixture.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { sharedLimits, type Charge, type Policy } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';

const policy: Policy = { name: 'key', ratePerSecond: 1000, burst: 2000 };

function on(bucket: string, of: Policy = policy): Charge[] {
  return [{ bucket, policy: of }];
}

describeWithRedis('leases on a real Redis', () => {
  let redis: LeasingRedis;
  beforeAll(async () => {
    redis = await leasingRedis();
  });
  afterAll(() => redis.close());

  describe('below shared limits', () => {
    limitStoreContract({
      runs: 40,
      open: () => {
        const { clock, replica } = redis.setUp();
        const store = sharedLimits({
          redis: replica(),
          local: memoryLimits({ now: clock.now, startEmpty: true }),
          now: clock.now,
          log: { info: () => undefined, warn: () => undefined },
          schedule: () => undefined,
        });
        return Promise.resolve({ store, advance: clock.advance, close: () => Promise.resolve(store.close()) });
      },
    });
  });

  it('admit without a call, and report what remains as Redis would', async () => {
    const { clock, replica, calls } = redis.setUp();
    const [one, charges] = [replica(), on('a')];
    await redis.warm(one, charges);
    await redis.client.config('RESETSTAT');
    expect(one.takeLeased(charges, 1)).toEqual({
      admitted: true,
      policy,
      remaining: 1959,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    });
    expect(one.takeLeased(charges, 3)).toMatchObject({ remaining: 1956 });
    clock.advance(20);
    expect(one.takeLeased(charges, 1)).toMatchObject({ remaining: 1975 });
    expect(await calls()).toBe(0);
  });

  it('are renewed before they run out, so that steady use hardly ever calls Redis', async () => {
    const { clock, replica, calls } = redis.setUp();
    const [one, charges] = [replica(), on('a')];
    await redis.warm(one, charges);
    await redis.client.config('RESETSTAT');
    let asked = 0;
    for (let ms = 0; ms < 2000; ms += 4) {
      clock.advance(4);
      if (one.takeLeased(charges, 1) !== undefined) continue;
      asked += 1;
      await one.charge(charges, 1);
      await redis.settle();
    }
    // Nothing was awaited in between, so no background lease had its answer: `asked` counts that.
    expect(asked).toBeLessThan(20);
    let directly = 0;
    for (let ms = 0; ms < 2000; ms += 4) {
      clock.advance(4);
      if (one.takeLeased(charges, 1) === undefined) {
        directly += 1;
        await one.charge(charges, 1);
      }
      await redis.settle();
    }
    expect(directly).toBe(0);
    expect(await calls()).toBeLessThan(60);
  });

  it('are at most a twentieth of the burst each, a fifth together, and leave a fifth to direct charges', async () => {
    const { replica, prefix } = redis.setUp();
    const charges = on('a');
    const replicas = Array.from({ length: 6 }, replica);
    for (const one of replicas) await redis.warm(one, charges, 150);
    expect(replicas.map((one) => spend(one, charges))).toEqual([100, 100, 100, 100, 0, 0]);
    expect(await redis.client.get(`${prefix}a leases`)).toMatch(/^(\S+ 100 \d+ ?){4}$/);
    const scarce = on('b');
    const other = replica();
    await other.charge(scarce, 1400);
    await redis.warm(other, scarce, 150);
    // 450 of 2,000 were left: 400 stay.
    expect(spend(other, scarce)).toBe(50);
  });

  it('are not requested for an idle bucket, a small burst, or requests that take much of it', async () => {
    const { clock, replica, prefix } = redis.setUp();
    const one = replica();
    for (let second = 0; second < 20; second += 1) {
      for (const bucket of ['slow', 'other']) await decide(one, on(bucket));
      clock.advance(100);
    }
    await redis.warm(one, on('small', { ...policy, burst: 199 }));
    for (let n = 0; n < 15; n += 1) await decide(one, on('batches'), 11);
    await redis.settle();
    expect(await redis.client.keys(`${prefix}* leases`)).toEqual([]);
  });

  it('must hold in all buckets of a charge, otherwise Redis is called', async () => {
    const { replica } = redis.setUp();
    const one = replica();
    const [wide, narrow, cold] = [on('wide'), on('narrow'), on('cold')];
    await redis.warm(one, [...wide, ...narrow], 60);
    expect(one.takeLeased([...wide, ...cold], 1)).toBeUndefined();
    expect(one.takeLeased([...wide, ...narrow], 1)).toMatchObject({ admitted: true });
    expect(one.takeLeased([...wide, ...narrow], 61)).toBeUndefined();
    // Reserved tokens of a charge to Redis are not charged twice in any bucket.
    expect(await one.charge([...wide, ...cold], 59)).toMatchObject({ admitted: true });
    expect(await one.charge(cold, 0)).toMatchObject({ remaining: 1941 });
    expect(await one.charge(wide, 0)).toMatchObject({ remaining: 1880 });
  });

  it('are lost after a second, and until then the bucket does not fill with them', async () => {
    const { clock, replica } = redis.setUp();
    const [one, two, charges] = [replica(), replica(), on('a')];
    await redis.warm(one, charges, 100);
    clock.advance(999);
    // All but the leased tokens could have been admitted at once, and those after that.
    expect(await two.charge(charges, 2000)).toMatchObject({ admitted: false, remaining: 1900 });
    expect(await two.charge(charges, 1900)).toMatchObject({ admitted: true, remaining: 0 });
    expect(spend(one, charges)).toBe(100);
    const other = on('b');
    await redis.warm(one, other, 100);
    clock.advance(1000);
    expect(spend(one, other)).toBe(0);
    clock.advance(260);
    expect(await two.charge(other, 0)).toMatchObject({ remaining: 1910 });
  });

  it('do not get their holder refused, and are paused for a charge that needs their room', async () => {
    const { clock, replica } = redis.setUp();
    const quick: Policy = { name: 'network', ratePerSecond: 100_000, burst: 200 };
    const [one, two, charges] = [replica(), replica(), on('a', quick)];
    await redis.warm(one, charges, 20);
    clock.advance(100);
    expect(await one.charge(charges, 200)).toMatchObject({ admitted: true });
    clock.advance(100);
    await redis.warm(one, charges, 20);
    clock.advance(50);
    const refused = await two.charge(charges, 200);
    expect(refused).toMatchObject({ admitted: false, retryAfterSeconds: 2 });
    for (let ms = 0; ms < 2000; ms += 20) {
      clock.advance(20);
      await decide(one, charges);
      await redis.settle();
    }
    clock.advance(1);
    expect(await two.charge(charges, 200)).toMatchObject({ admitted: true });
  });

  it('take nothing for a charge that Redis refuses, however often', async () => {
    const { replica } = redis.setUp();
    const one = replica();
    const [wide, narrow] = [on('wide'), on('narrow', { ...policy, burst: 200, ratePerSecond: 1 })];
    await redis.warm(one, wide, 60);
    await one.charge(narrow, 150);
    for (let n = 0; n < 5; n += 1) {
      expect(one.takeLeased([...wide, ...narrow], 55)).toBeUndefined();
      expect(await one.charge([...wide, ...narrow], 55)).toMatchObject({ admitted: false });
    }
    expect(spend(one, wide)).toBe(60);
  });

  it('count reserved tokens until the charge is decided', async () => {
    const { replica, hold } = redis.setUp();
    const one = replica();
    const [wide, narrow] = [on('wide'), on('narrow', { ...policy, burst: 200, ratePerSecond: 1 })];
    await redis.warm(one, wide, 100);
    await one.charge(narrow, 150);
    const answer = hold();
    const refused = one.charge([...wide, ...narrow], 60);
    // 39 are left here, so more is requested, while 60 are reserved in flight.
    expect(one.takeLeased(wide, 1)).toMatchObject({ admitted: true });
    await redis.settle();
    answer();
    expect(await refused).toMatchObject({ admitted: false });
    await redis.settle();
    expect(spend(one, wide)).toBe(100);
  });

  it('stay valid while Redis fails, and are not requested meanwhile', async () => {
    const { clock, replica, lose, calls } = redis.setUp();
    const [one, charges] = [replica(), on('a')];
    await redis.warm(one, charges, 100);
    lose(true);
    await redis.client.config('RESETSTAT');
    expect(spend(one, charges)).toBe(100);
    await redis.settle();
    expect(await calls()).toBe(1);
    for (let n = 0; n < 20; n += 1) expect(one.takeLeased(charges, 1)).toBeUndefined();
    await redis.settle();
    expect(await calls()).toBe(1);
    lose(false);
    await one.charge(charges, 1);
    clock.advance(500);
    await redis.warm(one, charges, 40);
    expect(spend(one, charges)).toBeGreaterThan(0);
  });

  it('are not spent after a change of limits', async () => {
    const { replica } = redis.setUp();
    const one = replica();
    await redis.warm(one, on('a'), 100);
    expect(one.takeLeased(on('a', { ...policy, burst: 1999 }), 1)).toBeUndefined();
    expect(one.takeLeased(on('a'), 1)).toBeUndefined();
  });
});
