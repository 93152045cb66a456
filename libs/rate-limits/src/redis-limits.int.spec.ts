import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ThrowawayRedis } from '@sealgate/testing';
import { describeWithRedis, testClock, throwawayRedis } from '@sealgate/testing';
import { Redis } from 'ioredis';
import { limitStoreContract } from './limit-store.contract.ts';
import type { Charge, Policy } from './limits.ts';
import { redisLimits } from './redis-limits.ts';

const policy: Policy = { name: 'key', ratePerSecond: 20, burst: 100 };

function on(bucket: string): Charge[] {
  return [{ bucket, policy }];
}

async function connect(url: string): Promise<Redis> {
  const client = new Redis(url, { lazyConnect: true, enableOfflineQueue: false });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describeWithRedis('redisLimits on a real Redis', () => {
  let server: ThrowawayRedis;
  let client: Redis;
  beforeAll(async () => {
    server = await throwawayRedis();
    client = await connect(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  describe('as a LimitStore', () => {
    limitStoreContract({
      runs: 40,
      open: async () => {
        const clock = testClock();
        const ownClient = await connect(server.url);
        const store = redisLimits({ client: ownClient, prefix: 'contract:', now: clock.now, timeoutMs: 5000 });
        const close = (): Promise<void> => Promise.resolve(ownClient.disconnect());
        return { store, advance: clock.advance, close };
      },
    });
  });

  it('uses the time of Redis', async () => {
    const limits = redisLimits({ client, prefix: 'time:' });
    expect(await limits.charge(on('a'), 100)).toMatchObject({ admitted: true, remaining: 0 });
    const [seconds = '0', micros = '0'] = await client.time();
    const stored = await client.get('time:a');
    const [used, atMicros] = String(stored).split(' ').map(Number);
    expect(used).toBe(100_000_000);
    expect(Math.abs(Number(seconds) * 1e6 + Number(micros) - Number(atMicros))).toBeLessThan(10_000_000);
  });

  it('sets a TTL on every key: a second more than its bucket takes to fill', async () => {
    const limits = redisLimits({ client, prefix: 'ttl:' });
    await Promise.all([limits.charge(on('drained'), 100), limits.charge(on('touched'), 1)]);
    await limits.charge(on('drained'), 1);
    for (const [bucket, fillMs] of [
      ['drained', 5000],
      ['touched', 50],
    ] as const) {
      const ttlMs = await client.pttl(`ttl:${bucket}`);
      expect(ttlMs).toBeGreaterThan(fillMs);
      expect(ttlMs).toBeLessThanOrEqual(fillMs + 1000);
    }
  });

  it('writes nothing for a refusal or a cost of 0', async () => {
    const limits = redisLimits({ client, prefix: 'none:' });
    await Promise.all([limits.charge(on('a'), 101), limits.charge(on('b'), 0)]);
    expect(await client.keys('none:*')).toEqual([]);
  });

  it('sends one call for all charges of one tick', async () => {
    const limits = redisLimits({ client, prefix: 'tick:' });
    await limits.charge(on('a'), 1);
    await client.config('RESETSTAT');
    await Promise.all(Array.from({ length: 200 }, (_, index) => limits.charge(on(`b${index % 7}`), 1)));
    const stats = await client.info('commandstats');
    expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe('1');
    expect(stats).not.toContain('cmdstat_eval:');
  });

  it('shares buckets between clients', async () => {
    const other = await connect(server.url);
    const charge = (connected: Redis, cost: number) =>
      redisLimits({ client: connected, prefix: 'share:' }).charge(on('a'), cost);
    expect(await charge(client, 60)).toMatchObject({ admitted: true });
    expect(await charge(other, 60)).toMatchObject({ admitted: false });
    other.disconnect();
  });

  it('sends the script again after NOSCRIPT', async () => {
    const limits = redisLimits({ client, prefix: 'forgot:' });
    await limits.charge(on('a'), 1);
    await client.script('FLUSH');
    expect(await limits.charge(on('a'), 1)).toMatchObject({ admitted: true });
    await client.config('RESETSTAT');
    await limits.charge(on('a'), 1);
    expect(await client.info('commandstats')).not.toContain('cmdstat_eval:');
  });

  it.each(['', 'junk', '12', '-1 5', '5 -1', '1e9 7'])(
    'takes the foreign value %j for a full bucket',
    async (value) => {
      await client.set('foreign:a', value);
      const limits = redisLimits({ client, prefix: 'foreign:' });
      expect(await limits.charge(on('a'), 1)).toMatchObject({ admitted: true, remaining: 99 });
      expect(await client.pttl('foreign:a')).toBeGreaterThan(0);
    },
  );

  it('rejects at once if the client is not connected, even one with an offline queue', async () => {
    const away = new Redis(server.url, { lazyConnect: true });
    const limits = redisLimits({ client: away, prefix: 'away:' });
    await expect(limits.charge(on('a'), 1)).rejects.toThrow('Redis is not connected.');
    expect(away.status).toBe('wait');
    away.disconnect();
  });

  it('rejects every charge of a tick if the script fails', async () => {
    const limits = redisLimits({ client, prefix: 'fail:' });
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.config('SET', 'maxmemory', '1');
    const outcomes = await Promise.allSettled([limits.charge(on('a'), 1), limits.charge(on('b'), 1)]);
    await client.config('SET', 'maxmemory', '0');
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await client.keys('fail:*')).toEqual([]);
  });

  it('rejects after its timeout and ignores a later answer', async () => {
    const limits = redisLimits({ client, prefix: 'slow:', timeoutMs: 50 });
    process.kill(server.pid, 'SIGSTOP');
    try {
      await expect(limits.charge(on('a'), 1)).rejects.toThrow('Redis did not answer within 50 ms.');
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    expect(await redisLimits({ client, prefix: 'slow:', timeoutMs: 5000 }).charge(on('a'), 1)).toMatchObject({
      admitted: true,
    });
  });

  it('accepts an answer that arrived while the event loop was blocked', async () => {
    const limits = redisLimits({ client, prefix: 'still:', timeoutMs: 50 });
    const charged = limits.charge(on('a'), 1);
    // Redis answers meanwhile; the timer is due before the socket is read.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const end = performance.now() + 150;
    while (performance.now() < end);
    expect(await charged).toMatchObject({ admitted: true });
  });
});
