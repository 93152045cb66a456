import { describe, expect, it } from '@jest/globals';
import { rateLimitHeaders, type LimitState } from './limit-store.ts';

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
