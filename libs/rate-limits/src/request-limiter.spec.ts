import { describe, expect, it } from '@jest/globals';
import { testClock, testExchange } from '@sealgate/testing';
import type { LimitStore, Policy } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';
import { GcraStore, requestLimiter } from './request-limiter.ts';

const policy: Policy = { name: 'key', ratePerSecond: 20, burst: 3 };
const clock = testClock();

function limiterOver(limits: LimitStore) {
  const limiter = requestLimiter(limits, policy, clock.now);
  return { limiter, ask: (bucket: string) => limiter.admit(bucket, testExchange()) };
}

describe('requestLimiter', () => {
  it('charges 1, returns the headers each time, and refuses beyond the burst', async () => {
    const { ask, limiter } = limiterOver(memoryLimits({ now: clock.now }));
    expect(limiter.fullHeaders).toEqual({ 'RateLimit-Policy': '"key";q=3;w=1', RateLimit: '"key";r=3;t=0' });
    for (const remaining of [2, 1, 0]) {
      expect(await ask('case-gate:key:1')).toEqual({
        admitted: true,
        headers: { 'RateLimit-Policy': '"key";q=3;w=1', RateLimit: `"key";r=${remaining};t=1` },
        retryAfterSeconds: 0,
      });
    }
    expect(await ask('case-gate:key:1')).toEqual({
      admitted: false,
      headers: { 'RateLimit-Policy': '"key";q=3;w=1', RateLimit: '"key";r=0;t=1', 'Retry-After': '1' },
      retryAfterSeconds: 1,
    });
    expect(await ask('case-gate:key:2')).toMatchObject({ admitted: true });
  });

  it('charges the named bucket, once', async () => {
    const charged: unknown[] = [];
    const inner = memoryLimits({ now: clock.now });
    const { ask } = limiterOver({
      charge: (charges, cost) => {
        charged.push([charges, cost]);
        return inner.charge(charges, cost);
      },
    });
    await ask('case-gate:key:1');
    expect(charged).toEqual([[[{ bucket: 'case-gate:key:1', policy }], 1]]);
  });

  it('returns each concurrent request its own state', async () => {
    const { ask } = limiterOver(memoryLimits({ now: clock.now }));
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => ask('k')));
    expect(outcomes.map(({ headers }) => headers.RateLimit)).toEqual([
      '"key";r=2;t=1',
      '"key";r=1;t=1',
      '"key";r=0;t=1',
    ]);
  });

  it('charges one request to several limiters with separate state', async () => {
    const limits = memoryLimits({ now: clock.now });
    const exchange = testExchange();
    const wide = requestLimiter(limits, { ...policy, burst: 50 }, clock.now);
    const narrow = requestLimiter(limits, policy, clock.now);
    expect((await wide.charge('wide', exchange)).remaining).toBe(49);
    expect((await narrow.charge('narrow', exchange)).remaining).toBe(2);
  });

  it('rejects if its store rejects', async () => {
    const error = new Error('store');
    const { ask } = limiterOver({ charge: () => Promise.reject(error) });
    await expect(ask('k')).rejects.toBe(error);
  });

  it('does not touch the response', async () => {
    const { limiter } = limiterOver(memoryLimits({ now: clock.now }));
    const exchange = testExchange();
    for (let count = 0; count < 5; count += 1) await limiter.admit('k', exchange);
    expect(exchange.response.getHeaderNames()).toEqual([]);
    expect(exchange.response.headersSent).toBe(false);
  });
});

describe('GcraStore', () => {
  const store = new GcraStore(memoryLimits({ now: clock.now }), policy, clock.now);

  it('reports the tokens missing from the burst as hits, and burst + 1 for a refusal', async () => {
    const hits: number[] = [];
    for (let count = 0; count < 4; count += 1) hits.push((await store.increment('k')).totalHits);
    expect(hits).toEqual([1, 2, 3, 4]);
    expect((await store.increment('k')).resetTime?.getTime()).toBe(clock.now() + 1000);
  });

  it('refuses decrement and resetKey', () => {
    expect(() => store.decrement()).toThrow('cannot be taken back');
    expect(() => store.resetKey()).toThrow('cannot be reset');
  });
});
