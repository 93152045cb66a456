import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import {
  rateLimitHeaders,
  sharedLimits,
  type Charge,
  type LeasingStore,
  type LimitState,
  type Policy,
  type SharedLimits,
} from './limits.ts';
import { memoryLimits } from './memory-limits.ts';

const policy: Policy = { name: 'key', ratePerSecond: 10, burst: 100 };

function on(bucket: string): Charge[] {
  return [{ bucket, policy }];
}

/** Shared limits over a store that the test breaks, with recorded events. */
function setUp(options: { replicas?: number } = {}) {
  const clock = testClock();
  const inRedis = memoryLimits({ now: clock.now });
  const asked: string[] = [];
  let failure: Error | undefined;
  let leased: LimitState | undefined;
  const redis: LeasingStore = {
    takeLeased: () => leased,
    charge: (charges, cost) => {
      asked.push(charges.map(({ bucket }) => bucket).join());
      return failure === undefined ? inRedis.charge(charges, cost) : Promise.reject(failure);
    },
    probe: () => {
      asked.push('probe');
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    },
  };
  const states: SharedLimits['state'][] = [];
  const lines: unknown[] = [];
  const scheduled: { work: () => void; delayMs: number }[] = [];
  const limits = sharedLimits({
    redis,
    local: memoryLimits({ now: clock.now, startEmpty: true, ...options }),
    now: clock.now,
    log: {
      info: (event, fields) => lines.push(['info', event, fields]),
      warn: (event, fields) => lines.push(['warn', event, fields]),
    },
    onStateChange: (state) => states.push(state),
    schedule: (work, delayMs) => scheduled.push({ work, delayMs }),
  });
  /** Runs all scheduled work. */
  const probe = async (): Promise<void> => {
    for (const { work } of scheduled.splice(0)) work();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const fail = (error?: Error): void => {
    failure = error;
  };
  const lease = (state?: LimitState): void => {
    leased = state;
  };
  return { clock, limits, asked, states, lines, scheduled, probe, fail, lease };
}

describe('sharedLimits', () => {
  it('calls Redis while it answers', async () => {
    const { limits, asked, states, lines } = setUp();
    expect(await limits.charge(on('a'), 1)).toMatchObject({ admitted: true, remaining: 99 });
    expect(asked).toEqual(['a']);
    expect(states).toEqual(['local', 'shared']);
    expect(lines).toEqual([]);
  });

  it('becomes shared after the first answer, also without requests', async () => {
    const { limits, asked, states, lines, scheduled, probe } = setUp();
    expect(limits.state).toBe('local');
    expect(scheduled).toMatchObject([{ delayMs: 25 }]);
    expect(limits.isSettled).toBe(false);
    await probe();
    expect(limits.state).toBe('shared');
    expect(limits.isSettled).toBe(true);
    expect(asked).toEqual(['probe']);
    expect(states).toEqual(['local', 'shared']);
    expect(lines).toEqual([]);
  });

  it('stays local if Redis never answers', async () => {
    const { clock, limits, states, lines, probe, fail } = setUp();
    clock.advance(1_500);
    fail(new Error('ECONNREFUSED'));
    await probe();
    await probe();
    expect(limits.state).toBe('local');
    expect(states).toEqual(['local']);
    expect(lines).toEqual([['warn', 'limits_local', { reason: 'ECONNREFUSED' }]]);
  });

  it('detects loss and return of Redis without requests', async () => {
    const { limits, scheduled, states, probe, fail } = setUp();
    await probe();
    expect(scheduled).toMatchObject([{ delayMs: 5_000 }]);
    fail(new Error('gone'));
    await probe();
    expect(limits.state).toBe('local');
    expect(scheduled).toMatchObject([{ delayMs: 250 }]);
    fail();
    await probe();
    expect(states).toEqual(['local', 'shared', 'local', 'shared']);
  });

  it('probes only if Redis has not answered a request since the last probe', async () => {
    const { limits, asked, probe } = setUp();
    await limits.charge(on('a'), 1);
    await probe();
    expect(asked).toEqual(['a']);
    await probe();
    expect(asked).toEqual(['a', 'probe']);
  });

  it('decides the failing request locally, and later ones do not call Redis', async () => {
    const { limits, asked, fail } = setUp();
    fail(new Error('READONLY'));
    expect(await limits.charge(on('a'), 5)).toMatchObject({ admitted: true, remaining: 0 });
    expect(await limits.charge(on('b'), 100)).toMatchObject({ admitted: true });
    expect(asked).toEqual(['a']);
    expect(limits.state).toBe('local');
  });

  it('reports each change once, to the log and the callback', async () => {
    const { clock, limits, states, lines, probe, fail } = setUp();
    await limits.charge(on('a'), 1);
    fail(new Error('OOM'));
    await Promise.all(['a', 'b', 'c'].map((bucket) => limits.charge(on(bucket), 1)));
    clock.advance(250);
    await probe();
    fail();
    clock.advance(250);
    await probe();
    expect(states).toEqual(['local', 'shared', 'local', 'shared']);
    expect(lines).toEqual([
      ['warn', 'limits_local', { reason: 'OOM' }],
      ['info', 'limits_shared', { awayMs: 500 }],
    ]);
  });

  it('waits for the first answer of Redis for a second and a half, before which nothing is lost', async () => {
    const { clock, limits, lines, scheduled, probe, fail } = setUp();
    fail(new Error('not connected yet'));
    await probe();
    clock.advance(1_499);
    expect(limits.isSettled).toBe(false);
    expect(lines).toEqual([]);
    clock.advance(1);
    expect(limits.isSettled).toBe(true);
    await probe();
    expect(lines).toMatchObject([['warn', 'limits_local', { reason: 'not connected yet' }]]);
    expect(scheduled).toMatchObject([{ delayMs: 250 }]);
  });

  it('probes 250 ms after the failure and after each failed probe, until Redis can write', async () => {
    const { clock, limits, asked, scheduled, probe, fail } = setUp();
    clock.advance(1_500);
    fail(new Error('OOM'));
    await limits.charge(on('a'), 1);
    await probe();
    await probe();
    expect(asked).toEqual(['a', 'probe', 'probe']);
    expect(scheduled).toMatchObject([{ delayMs: 250 }]);
    fail();
    await probe();
    expect(limits.state).toBe('shared');
    expect(scheduled).toMatchObject([{ delayMs: 5_000 }]);
    await limits.charge(on('a'), 1);
    expect(asked).toEqual(['a', 'probe', 'probe', 'probe', 'a']);
  });

  it('enforces its share of the rate from an empty burst after each loss', async () => {
    const { clock, limits, probe, fail } = setUp({ replicas: 2 });
    for (let loss = 0; loss < 2; loss += 1) {
      fail(new Error('gone'));
      expect((await limits.charge(on('a'), 1)).admitted).toBe(true);
      expect(await limits.charge(on('a'), 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
      clock.advance(200);
      expect((await limits.charge(on('a'), 1)).admitted).toBe(true);
      expect((await limits.charge(on('a'), 1)).admitted).toBe(false);
      fail();
      await probe();
      expect(limits.state).toBe('shared');
    }
  });

  it('ignores the failure of a call from before Redis came back', async () => {
    const clock = testClock();
    const late: ((error: Error) => void)[] = [];
    const scheduled: (() => void)[] = [];
    let hang = true;
    const admitted: LimitState = { admitted: true, policy, remaining: 1, resetSeconds: 1, retryAfterSeconds: 0 };
    const limits = sharedLimits({
      redis: {
        takeLeased: () => undefined,
        charge: () => (hang ? new Promise((_resolve, reject) => late.push(reject)) : Promise.resolve(admitted)),
        probe: () => Promise.resolve(),
      },
      local: memoryLimits({ now: clock.now, startEmpty: true }),
      now: clock.now,
      log: { info: () => undefined, warn: () => undefined },
      schedule: (work) => scheduled.push(work),
    });
    const first = limits.charge(on('a'), 1);
    const second = limits.charge(on('b'), 1);
    late[0]?.(new Error('timeout'));
    expect((await first).admitted).toBe(true);
    hang = false;
    scheduled.at(-1)?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(limits.state).toBe('shared');
    late[1]?.(new Error('timeout'));
    expect((await second).admitted).toBe(true);
    expect(limits.state).toBe('shared');
  });

  it('admits from leases without a call, also while Redis is away, without a change of state', async () => {
    const { limits, asked, states, fail, lease } = setUp();
    const state: LimitState = { admitted: true, policy, remaining: 7, resetSeconds: 1, retryAfterSeconds: 0 };
    lease(state);
    expect(await limits.charge(on('a'), 1)).toBe(state);
    expect(states).toEqual(['local']);
    lease();
    fail(new Error('gone'));
    expect((await limits.charge(on('a'), 1)).admitted).toBe(true);
    expect((await limits.charge(on('a'), 1)).admitted).toBe(false);
    lease(state);
    expect(await limits.charge(on('a'), 1)).toBe(state);
    await expect(limits.charge([], 1)).rejects.toThrow(RangeError);
    expect(asked).toEqual(['a']);
    expect(states).toEqual(['local']);
  });

  it('does not treat a bug of a caller as a failure of Redis', async () => {
    const { limits, asked, lines } = setUp();
    await limits.charge(on('a'), 1);
    await expect(limits.charge([], 1)).rejects.toThrow(RangeError);
    expect(limits.state).toBe('shared');
    expect(asked).toEqual(['a']);
    expect(lines).toEqual([]);
  });

  it('always decides locally without a Redis, and never probes', async () => {
    const clock = testClock();
    const states: SharedLimits['state'][] = [];
    const limits = sharedLimits({
      local: memoryLimits({ now: clock.now, startEmpty: true }),
      now: clock.now,
      log: { info: () => undefined, warn: () => undefined },
      onStateChange: (state) => states.push(state),
      schedule: () => {
        throw new Error('nothing to probe');
      },
    });
    expect((await limits.charge(on('a'), 1)).admitted).toBe(true);
    expect((await limits.charge(on('a'), 1)).admitted).toBe(false);
    await expect(limits.charge([], 1)).rejects.toThrow(RangeError);
    expect(states).toEqual(['local']);
  });

  it('stops probing when it is closed', async () => {
    const { limits, asked, scheduled, probe, fail } = setUp();
    fail(new Error('gone'));
    await limits.charge(on('a'), 1);
    limits.close();
    await probe();
    expect(asked).toEqual(['a']);
    expect(scheduled).toEqual([]);
    expect((await limits.charge(on('b'), 1)).admitted).toBe(true);
  });
});

const admitted: LimitState = {
  admitted: true,
  policy: { name: 'network', ratePerSecond: 1000, burst: 2000 },
  remaining: 1999,
  resetSeconds: 1,
  retryAfterSeconds: 0,
};

describe('rateLimitHeaders', () => {
  it('returns policy and limit of an admitted charge', () => {
    expect(rateLimitHeaders(admitted)).toEqual({
      'RateLimit-Policy': '"network";q=2000;w=2',
      RateLimit: '"network";r=1999;t=1',
    });
  });

  it('adds Retry-After, equal to t, to a refusal', () => {
    const policy = { name: 'key', ratePerSecond: 20, burst: 101 } as const;
    const refused: LimitState = { admitted: false, policy, remaining: 3, resetSeconds: 4, retryAfterSeconds: 4 };
    expect(rateLimitHeaders(refused)).toEqual({
      'RateLimit-Policy': '"key";q=101;w=6',
      RateLimit: '"key";r=3;t=4',
      'Retry-After': '4',
    });
  });

  it('has a window of at least a second, and distinguishes all policies', () => {
    const policyOf = (name: 'key' | 'address', ratePerSecond: number, burst: number): string =>
      rateLimitHeaders({ ...admitted, policy: { name, ratePerSecond, burst } })['RateLimit-Policy'];
    for (let round = 0; round < 2; round += 1) {
      expect(policyOf('key', 1_000_000, 1)).toBe('"key";q=1;w=1');
      expect(policyOf('address', 1_000_000, 1)).toBe('"address";q=1;w=1');
      expect(policyOf('key', 1, 1_000_000)).toBe('"key";q=1000000;w=1000000');
      for (let burst = 1; burst <= 1500; burst += 1) policyOf('key', 1, burst);
    }
  });
});
