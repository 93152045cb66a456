import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AuthRequest } from '@sealgate/http';
import { addressLimiter, memoryLimits } from '@sealgate/rate-limits';
import { testClock, testExchange } from '@sealgate/testing';
import { ConfiguredKeys } from './api-keys.ts';
import { peerGuard } from './peer-guard.ts';

const key = 'k'.repeat(32);

function guardWith(keys: string, rate = { ratePerSecond: 1, burst: 2 }) {
  const { now } = testClock();
  const limits = memoryLimits({ now });
  const addresses = addressLimiter({ limits, listener: 'peer', now });
  return peerGuard({ keys: ConfiguredKeys.of(() => keys), limits, addresses, rate, now });
}

const request = (presented: string | undefined, clientAddress = '192.0.2.1'): AuthRequest => ({
  socketAddress: clientAddress,
  clientAddress,
  path: '/',
  header: (name) => (name === 'x-api-key' && presented !== undefined ? [presented] : []),
});

describe('the guard of the peer', () => {
  const guard = guardWith(hash('sha256', key, 'hex'));

  it('knows the holder of a key, and shows nothing of it', async () => {
    const caller = await guard.authenticate(request(key));
    expect(caller.familyId).toBe(hash('sha256', key, 'hex').slice(0, 16));
    expect(JSON.stringify(guard.describe?.(caller))).not.toContain(key);
  });

  it.each([undefined, '', 'short', 'x'.repeat(32), `${key}=`])('refuses %s', async (presented) => {
    await expect(guard.authenticate(request(presented))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('charges each key its own bucket', async () => {
    const caller = await guard.authenticate(request(key));
    expect(await guard.charge(caller, 1, testExchange())).toMatchObject({
      admitted: true,
      headers: { RateLimit: '"key";r=1;t=1' },
    });
    expect((await guard.charge(caller, 1, testExchange())).admitted).toBe(true);
    expect(await guard.charge(caller, 1, testExchange())).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
  });

  it('charges addresses where there are no keys, a /64 of IPv6 as one', async () => {
    const open = guardWith('');
    const [one, other, neighbour] = await Promise.all([
      open.authenticate(request(undefined, '2001:db8::1')),
      open.authenticate(request('anything', '2001:db8:0:1::1')),
      open.authenticate(request(undefined, '2001:db8::2')),
    ]);
    expect(one?.bucket).toBe(neighbour?.bucket);
    expect(one?.bucket).not.toBe(other?.bucket);
    expect((await open.charge(one, 1, testExchange())).headers['RateLimit-Policy']).toBe('"address";q=2;w=2');
  });

  it('slows down whoever guesses, by address', async () => {
    const guessing = guardWith(hash('sha256', key, 'hex'));
    for (let times = 0; times < 100; times += 1)
      expect(await guessing.failedAuthentication?.(request('x'), testExchange())).toBeUndefined();
    expect(await guessing.failedAuthentication?.(request('x'), testExchange())).toMatchObject({ code: 'RATE_LIMITED' });
    expect(await guessing.failedAuthentication?.(request('x', '192.0.2.2'), testExchange())).toBeUndefined();
  });
});
