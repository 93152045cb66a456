import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import type { Request, RequestHandler, Response } from 'express';
import { addressLimiter } from './address-limiter.ts';
import { GcraStore } from './gcra-store.ts';
import { keyRateLimit } from './key-rate-limit.ts';
import type { LimitStore, Policy } from './limit-store.ts';
import { memoryLimits } from './memory-limits.ts';

const policy: Policy = { name: 'key', ratePerSecond: 20, burst: 3 };
const clock = testClock();

interface Outcome {
  readonly went: 'on' | 'refused' | 'failed';
  readonly headers: Record<string, string>;
  readonly error?: unknown;
}

/** Runs a middleware on the least of a request and a response that it needs. */
function run(middleware: RequestHandler, member: Record<string, unknown>, refusals: Set<unknown>): Promise<Outcome> {
  const headers: Record<string, string> = {};
  const request = { ...member } as unknown as Request;
  const response = { setHeader: (name: string, value: string) => (headers[name] = value) } as unknown as Response;
  return new Promise((resolve) => {
    refusals.add(() => resolve({ went: 'refused', headers }));
    const next = (error?: unknown): void => {
      resolve(error === undefined ? { went: 'on', headers } : { went: 'failed', headers, error });
    };
    void middleware(request, response, next);
  });
}

function keyLimit(limits: LimitStore) {
  const refusals = new Set<unknown>();
  const middleware = keyRateLimit({
    limits,
    policy,
    surface: 'case-gate',
    keyIdOf: (request) => Reflect.get(request, 'keyId'),
    refuse: () => {
      for (const refused of refusals) if (typeof refused === 'function') refused();
    },
    now: clock.now,
  });
  return (member: Record<string, unknown>): Promise<Outcome> => run(middleware, member, refusals);
}

describe('keyRateLimit', () => {
  it('charges 1 to the key, tells the limit on every answer, and refuses past the burst', async () => {
    const ask = keyLimit(memoryLimits({ now: clock.now }));
    for (const remaining of [2, 1, 0]) {
      expect(await ask({ keyId: 'key_1' })).toEqual({
        went: 'on',
        headers: { 'RateLimit-Policy': '"key";q=3;w=1', RateLimit: `"key";r=${remaining};t=1` },
      });
    }
    expect(await ask({ keyId: 'key_1' })).toEqual({
      went: 'refused',
      headers: { 'RateLimit-Policy': '"key";q=3;w=1', RateLimit: '"key";r=0;t=1', 'Retry-After': '1' },
    });
    expect(await ask({ keyId: 'key_2' })).toMatchObject({ went: 'on' });
  });

  it('charges a bucket named for surface and key', async () => {
    const named: string[] = [];
    const inner = memoryLimits({ now: clock.now });
    const ask = keyLimit({
      charge: (charges, cost) => {
        named.push(...charges.map(({ bucket }) => bucket));
        return inner.charge(charges, cost);
      },
    });
    await ask({ keyId: 'key_1' });
    expect(named).toEqual(['case-gate:key:key_1']);
  });

  it('lets pass whom nobody is known for', async () => {
    const ask = keyLimit(memoryLimits({ now: clock.now }));
    for (let count = 0; count < 10; count += 1) expect(await ask({})).toEqual({ went: 'on', headers: {} });
  });

  it('gives each of many requests at once its own state', async () => {
    const ask = keyLimit(memoryLimits({ now: clock.now }));
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => ask({ keyId: 'key_1' })));
    expect(outcomes.map(({ headers }) => headers['RateLimit'])).toEqual([
      '"key";r=2;t=1',
      '"key";r=1;t=1',
      '"key";r=0;t=1',
    ]);
  });

  it('passes on a store that rejects, instead of admitting or refusing', async () => {
    const error = new Error('store');
    const ask = keyLimit({ charge: () => Promise.reject(error) });
    expect(await ask({ keyId: 'key_1' })).toEqual({ went: 'failed', headers: {}, error });
  });
});

describe('addressLimiter as a middleware', () => {
  it('counts the same failures as the function does', async () => {
    const limits = memoryLimits({ now: clock.now });
    const addresses = addressLimiter({ limits, listener: 'a', now: clock.now, policy: { ...policy, name: 'address' } });
    const refusals = new Set<unknown>();
    const middleware = addresses.middleware({
      addressOf: (request) => request.ip,
      refuse: () => {
        for (const refused of refusals) if (typeof refused === 'function') refused();
      },
    });
    await addresses.failedAuthentication('192.0.2.1');
    await addresses.failedAuthentication('192.0.2.1', { malformed: true });
    expect(await run(middleware, { ip: '192.0.2.1' }, refusals)).toMatchObject({ went: 'on' });
    expect(await run(middleware, { ip: '192.0.2.1' }, refusals)).toMatchObject({
      went: 'refused',
      headers: { 'Retry-After': '1', 'RateLimit-Policy': '"address";q=3;w=1' },
    });
    expect(await run(middleware, { ip: '192.0.2.2' }, refusals)).toMatchObject({ went: 'on' });
  });
});

describe('GcraStore', () => {
  const store = new GcraStore({ limits: memoryLimits({ now: clock.now }), policy, prefix: 'p:', now: clock.now });

  it('reports what is missing from the burst as hits, and one more than the burst for a refusal', async () => {
    const hits: number[] = [];
    for (let count = 0; count < 4; count += 1) hits.push((await store.increment('k')).totalHits);
    expect(hits).toEqual([1, 2, 3, 4]);
    expect((await store.increment('k')).resetTime?.getTime()).toBe(clock.now() + 1000);
  });

  it('takes nothing back', () => {
    expect(() => store.decrement()).toThrow('cannot be taken back');
    expect(() => store.resetKey()).toThrow('cannot be reset');
  });
});
