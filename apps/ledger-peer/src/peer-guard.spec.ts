import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AuthRequest } from '@sealgate/http';
import { addressLimiter, memoryLimits } from '@sealgate/rate-limits';
import { testClock, testExchange } from '@sealgate/testing';
import { ConfiguredKeys } from './api-keys.ts';
import { CALLS_LEDGER, type Signers } from './domain/caller.ts';
import { peerGuard } from './peer-guard.ts';

const key = 'k'.repeat(32);

function guardWith(keys: string, rate = { ratePerSecond: 1, burst: 2 }, signers?: Pick<Signers, 'ofKeyFamily'>) {
  const { now } = testClock();
  const limits = memoryLimits({ now });
  const addresses = addressLimiter({ limits, listener: 'peer', now });
  const log = { rate: { ratePerSecond: 1000, burst: 2000 }, isOpen: (channel: string) => channel === 'acme.open' };
  return peerGuard({ keys: ConfiguredKeys.of(() => keys), limits, addresses, rate, log, signers });
}

const request = (presented: string | undefined, clientAddress = '192.0.2.1'): AuthRequest => ({
  note: () => undefined,
  socketAddress: clientAddress,
  clientAddress,
  path: '/',
  header: (name) => (name === 'x-api-key' && presented !== undefined ? [presented] : []),
});

const bearerOf = (key: string) => (name: string) => (name === 'authorization' ? [`Bearer ${key}`] : []);

describe('the guard of the peer', () => {
  const guard = guardWith(hash('sha256', key, 'hex'));

  it('identifies the holder of a key without showing the key', async () => {
    const caller = await guard.authenticate(request(key));
    expect(caller.familyId).toBe(hash('sha256', key, 'hex').slice(0, 16));
    expect(JSON.stringify(guard.describe?.(caller))).not.toContain(key);
  });

  it.each([undefined, '', 'short', 'x'.repeat(32), `${key}=`])('rejects %s', async (presented) => {
    await expect(guard.authenticate(request(presented))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('lets only callers call the ledger for whom an identity signs, and everybody on a ledger without identities', async () => {
    const [known, unknown] = [key, 'u'.repeat(32)];
    const keys = [known, unknown].map((each, at) => `f${at}:${hash('sha256', each, 'hex')}`).join(',');
    const signers = { ofKeyFamily: (family: string) => (family === 'f0' ? 'clerk' : undefined) };
    const signing = guardWith(keys, undefined, signers);
    const callers = await Promise.all([known, unknown].map((each) => signing.authenticate(request(each))));
    expect(callers.map(({ identity }) => identity)).toEqual(['clerk', undefined]);
    expect(callers.map((caller) => signing.permits(caller, CALLS_LEDGER))).toEqual([true, false]);
    expect(guard.permits(await guard.authenticate(request(key)), CALLS_LEDGER)).toBe(true);
  });

  it('has a rate limit bucket for each key', async () => {
    const caller = await guard.authenticate(request(key));
    expect(await guard.charge(caller, 1)).toMatchObject({
      admitted: true,
      headers: { RateLimit: '"key";r=1;t=1' },
    });
    expect((await guard.charge(caller, 1)).admitted).toBe(true);
    expect(await guard.charge(caller, 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
  });

  it('limits by address without keys, with an IPv6 /64 as one address', async () => {
    const open = guardWith('');
    const [one, other, neighbour] = await Promise.all([
      open.authenticate(request(undefined, '2001:db8::1')),
      open.authenticate(request('anything', '2001:db8:0:1::1')),
      open.authenticate(request(undefined, '2001:db8::2')),
    ]);
    expect(one?.bucket).toBe(neighbour?.bucket);
    expect(one?.bucket).not.toBe(other?.bucket);
    expect((await open.charge(one, 1)).headers['RateLimit-Policy']).toBe('"address";q=2;w=2');
  });

  it.each(['/checkpoint', '/tile/0/000', '/tile/entries/000', '/e1/tile/0/000', '/entry', '/overview', ''])(
    'also accepts a bearer token for /ledger/{channel}%s, with its own bucket',
    async (rest) => {
      const bearer = { ...request(undefined), path: `/ledger/acme.main${rest}`, header: bearerOf(key) };
      const caller = await guard.authenticate(bearer);
      expect(caller.familyId).toBe(hash('sha256', key, 'hex').slice(0, 16));
      expect((await guard.charge(caller, 1)).headers['RateLimit-Policy']).toBe('"key";q=2000;w=2');
      expect(guard.lastLimits?.(caller)?.['RateLimit-Policy']).toBe('"key";q=2000;w=2');
      expect(caller.bucket).not.toBe((await guard.authenticate(request(key))).bucket);
    },
  );

  it.each(['/api/assets', '/ledger/acme.open/records/r1/proof', '/ledgers', '/health'])(
    'accepts no bearer token for %s, and requires a key',
    async (path) => {
      const refused = expect(guard.authenticate({ ...request(undefined), path, header: bearerOf(key) })).rejects;
      await refused.toMatchObject({ code: 'UNAUTHENTICATED' });
    },
  );

  it('serves only a public log without a key, limited by address', async () => {
    const at = (path: string, presented?: string) => guard.authenticate({ ...request(presented), path });
    const caller = await at('/ledger/acme.open/tile/0/000');
    expect((await guard.charge(caller, 1)).headers['RateLimit-Policy']).toBe('"address";q=2000;w=2');
    for (const path of ['/ledger/acme%2Eopen/checkpoint', '/ledger'])
      expect(await at(path, 'x'.repeat(32))).toEqual(caller);
    for (const path of [
      '/ledger/acme.main/checkpoint',
      '/ledger/acme.open%2Fe1/checkpoint',
      '/ledger/%E0%A4%A/checkpoint',
      '/ledger/',
      '/ledgers',
    ])
      await expect(at(path)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('limits key guessing by address', async () => {
    const guessing = guardWith(hash('sha256', key, 'hex'));
    for (let times = 0; times < 100; times += 1)
      expect(await guessing.failedAuthentication?.(request('x'), testExchange())).toBeUndefined();
    expect(await guessing.failedAuthentication?.(request('x'), testExchange())).toMatchObject({ code: 'RATE_LIMITED' });
    expect(await guessing.failedAuthentication?.(request('x', '192.0.2.2'), testExchange())).toBeUndefined();
  });
});
