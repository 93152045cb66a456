import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { addressLimiter } from './address-limiter.ts';
import { memoryLimits } from './memory-limits.ts';
import { refuseAddress } from './refuse-address.ts';

describe('refusing an address', () => {
  it('begins once its bucket is empty, with the headers of its policy', async () => {
    const { now } = testClock();
    const policy = { name: 'address', ratePerSecond: 1, burst: 2 } as const;
    const addresses = addressLimiter({ limits: memoryLimits({ now }), listener: 'test', now, policy });
    const fail = (clientAddress: string) => refuseAddress(addresses, { clientAddress }, false);
    expect(await fail('192.0.2.1')).toBeUndefined();
    expect(await fail('192.0.2.1')).toBeUndefined();
    expect(await fail('192.0.2.1')).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterSeconds: 1,
      headers: { 'RateLimit-Policy': '"address";q=2;w=2', RateLimit: '"address";r=0;t=1' },
    });
    expect(await fail('192.0.2.2')).toBeUndefined();
  });
});
