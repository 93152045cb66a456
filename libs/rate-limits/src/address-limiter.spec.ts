import { describe, expect, it } from '@jest/globals';
import { testClock, testExchange } from '@sealgate/testing';
import { addressLimiter, clientNetwork } from './address-limiter.ts';
import type { LimitStore } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';

function setUp() {
  const clock = testClock();
  const inner = memoryLimits({ now: clock.now });
  const named: string[] = [];
  const shared: LimitStore = {
    charge: (charges, cost) => {
      named.push(...charges.map(({ bucket }) => bucket));
      return inner.charge(charges, cost);
    },
  };
  const limiter = addressLimiter({ limits: shared, listener: 'ingest', now: clock.now });
  const failMany = async (count: number, address: string, malformed = false): Promise<number> => {
    const refusals = Array.from({ length: count }, () => limiter.refuse(testExchange(), address, malformed));
    return (await Promise.all(refusals)).filter((refusal) => refusal === undefined).length;
  };
  return { clock, inner, named, limiter, failMany };
}

describe('addressLimiter', () => {
  it('allows 100 failures at once and 20 a second per address', async () => {
    const { clock, limiter, failMany } = setUp();
    expect(await failMany(150, '192.0.2.1')).toBe(100);
    expect(await limiter.refuse(testExchange(), '192.0.2.1', false)).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterSeconds: 1,
      headers: { 'RateLimit-Policy': '"address";q=100;w=5', RateLimit: '"address";r=0;t=1', 'Retry-After': '1' },
    });
    clock.advance(1000);
    expect(await failMany(150, '192.0.2.1')).toBe(20);
    expect(await failMany(1, '192.0.2.2')).toBe(1);
  });

  it('counts malformed keys in this process only, together with the others', async () => {
    const { named, failMany } = setUp();
    expect(await failMany(60, '192.0.2.1', true)).toBe(60);
    expect(named).toEqual([]);
    expect(await failMany(60, '192.0.2.1')).toBe(40);
    expect(named).toHaveLength(40);
    expect(await failMany(1, '192.0.2.1', true)).toBe(0);
  });

  it('calls the shared limits no more often than the rate during a flood', async () => {
    const { named, failMany } = setUp();
    await failMany(5000, '192.0.2.1');
    expect(named).toHaveLength(100);
    expect(new Set(named)).toEqual(new Set(['ingest:address:192.0.2.1']));
  });

  it('honours failures counted by other replicas', async () => {
    const { inner, limiter } = setUp();
    const policy = { name: 'address', ratePerSecond: 20, burst: 100 } as const;
    inner.decide([{ bucket: 'ingest:address:192.0.2.1', policy }], 100);
    expect(await limiter.refuse(testExchange(), '192.0.2.1', false)).toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('keeps one bucket per listener', async () => {
    const { clock, inner, failMany } = setUp();
    await failMany(100, '192.0.2.1');
    const admin = addressLimiter({ limits: inner, listener: 'ingest-admin', now: clock.now });
    expect(await admin.refuse(testExchange(), '192.0.2.1', false)).toBeUndefined();
  });

  it('rejects if the shared limits reject, and leaves the answer to its caller', async () => {
    const error = new Error('store');
    const { now } = testClock();
    const limiter = addressLimiter({ limits: { charge: () => Promise.reject(error) }, listener: 'ingest', now });
    const exchange = testExchange();
    await expect(limiter.refuse(exchange, '192.0.2.1', false)).rejects.toBe(error);
    for (let count = 0; count < 105; count += 1) await limiter.refuse(exchange, '192.0.2.1', true);
    expect(exchange.response.getHeaderNames()).toEqual([]);
    expect(exchange.response.headersSent).toBe(false);
  });

  it('treats an IPv6 /64 as one client', async () => {
    const { failMany } = setUp();
    expect(await failMany(100, '2001:db8:1:2:3:4:5:6')).toBe(100);
    expect(await failMany(1, '2001:db8:1:2::1')).toBe(0);
    expect(await failMany(1, '2001:db8:1:3::1')).toBe(1);
  });
});

describe('clientNetwork', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['', 'unknown'],
    ['192.0.2.1:80', 'unknown'],
    ['not an address', 'unknown'],
    [undefined, 'unknown'],
  ])('%s is %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });
});
