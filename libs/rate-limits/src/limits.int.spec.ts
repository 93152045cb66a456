import { createServer, connect as connectSocket } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ThrowawayRedis } from '@sealgate/testing';
import { describeWithRedis, throwawayRedis, until } from '@sealgate/testing';
import { Redis } from 'ioredis';
import { sharedLimits, type Charge, type LimitState, type Policy, type SharedLimits } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';
import { redisLimits } from './redis-limits.ts';

/** Slow enough that hardly a token is refilled during a test. */
const policy: Policy = { name: 'key', ratePerSecond: 1, burst: 1000 };

/**
 * Maximum wait of a request: the timeout of a call plus the delay of a busy machine. The promise to callers is 300 ms.
 */
const MAX_WAIT_MS = 300;

function on(bucket: string): Charge[] {
  return [{ bucket, policy }];
}

/** A TCP proxy that can hold back every answer. */
async function delayingProxy(
  targetPort: number,
): Promise<{ server: Server; port: number; delay: (ms: number) => void }> {
  let delayMs = 0;
  const server = createServer((client: Socket) => {
    const upstream = connectSocket(targetPort, '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (chunk) => setTimeout(() => client.write(chunk), delayMs));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, port, delay: (ms) => (delayMs = ms) };
}

describeWithRedis('sharedLimits on a real Redis', () => {
  let redis: ThrowawayRedis;
  let proxy: Awaited<ReturnType<typeof delayingProxy>>;
  let client: Redis;
  let operator: Redis;
  let limits: SharedLimits;
  let lines: string[];
  let buckets = 0;

  const open = (port: number): Redis => {
    const url = new URL(redis.url);
    url.port = String(port);
    const opened = new Redis(url.href, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: 500,
      retryStrategy: () => 50,
    });
    opened.on('error', () => undefined);
    return opened;
  };

  beforeEach(async () => {
    redis = await throwawayRedis();
    proxy = await delayingProxy(redis.port);
    client = open(proxy.port);
    operator = open(redis.port);
    lines = [];
    limits = sharedLimits({
      redis: redisLimits({ client, prefix: 'limits:' }),
      local: memoryLimits({ now: Date.now, startEmpty: true, replicas: 3 }),
      now: Date.now,
      log: { info: (event) => lines.push(event), warn: (event) => lines.push(event) },
    });
    await until(() => client.status === 'ready' && operator.status === 'ready', { what: 'the clients' });
    // The first call of a cold Redis loads the script; on a busy machine it can exceed the timeout and open the
    // breaker.
    await until(() => limits.state === 'shared', { what: 'the first answer' });
    lines.length = 0;
  });

  afterEach(async () => {
    limits.close();
    client.disconnect();
    operator.disconnect();
    proxy.server.close();
    await redis.stop();
  });

  /** One charge and its duration. */
  const timed = async (bucket: string): Promise<{ state: LimitState; waitedMs: number }> => {
    const start = performance.now();
    const state = await limits.charge(on(bucket), 1);
    return { state, waitedMs: performance.now() - start };
  };

  /** Charges unused buckets once each, concurrently and in sequence: none may be refused. */
  const expectNoRefusal = async (): Promise<void> => {
    for (let round = 0; round < 5; round += 1) {
      const asked = Array.from({ length: 20 }, () => timed(`fresh-${(buckets += 1)}`));
      for (const { state, waitedMs } of await Promise.all(asked)) {
        expect(state.admitted).toBe(true);
        expect(waitedMs).toBeLessThan(MAX_WAIT_MS);
      }
    }
    expect(limits.state).toBe('local');
  };

  /** Redis decides again: a known bucket has what was left plus the refill since, or is full if data was lost. */
  const expectShared = async (dataLost: boolean): Promise<void> => {
    await until(() => limits.state === 'shared', { what: 'the shared limits' });
    const { admitted, remaining } = await limits.charge(on('known'), 1);
    expect(admitted).toBe(true);
    expect(remaining).toBeGreaterThanOrEqual(dataLost ? 999 : 599);
    expect(remaining).toBeLessThanOrEqual(dataLost ? 999 : 659);
    expect(lines).toEqual(['limits_local', 'limits_shared']);
  };

  const outages: [string, { cause: () => Promise<unknown>; heal: () => Promise<unknown>; dataLost: boolean }][] = [
    [
      'killed and started again',
      {
        cause: async () => {
          process.kill(redis.pid, 'SIGKILL');
          await redis.exited;
        },
        heal: () => redis.restart(),
        dataLost: true,
      },
    ],
    [
      'frozen',
      {
        cause: () => Promise.resolve(process.kill(redis.pid, 'SIGSTOP')),
        heal: () => Promise.resolve(process.kill(redis.pid, 'SIGCONT')),
        dataLost: false,
      },
    ],
    [
      'made the replica of a host that is gone',
      {
        cause: () => operator.replicaof('127.0.0.1', 1),
        heal: () => operator.replicaof('NO', 'ONE'),
        dataLost: false,
      },
    ],
    [
      'out of memory',
      {
        cause: async () => {
          await operator.config('SET', 'maxmemory-policy', 'noeviction');
          await operator.config('SET', 'maxmemory', '1');
        },
        heal: () => operator.config('SET', 'maxmemory', '0'),
        dataLost: false,
      },
    ],
    [
      'half a second away',
      {
        cause: () => Promise.resolve(proxy.delay(500)),
        heal: () => Promise.resolve(proxy.delay(0)),
        dataLost: false,
      },
    ],
    [
      'shut to this user',
      {
        cause: () => operator.acl('SETUSER', 'default', '-eval', '-evalsha'),
        heal: () => operator.acl('SETUSER', 'default', '+@all'),
        dataLost: false,
      },
    ],
  ];

  it.each(outages)('refuses no request while Redis is %s', async (_title, { cause, heal, dataLost }) => {
    expect(await limits.charge(on('known'), 400)).toMatchObject({ admitted: true, remaining: 600 });
    await cause();
    await expectNoRefusal();
    const hot = await Promise.all(Array.from({ length: 50 }, () => limits.charge(on('hot'), 1)));
    expect(hot.filter(({ admitted }) => admitted)).toHaveLength(1);
    await heal();
    await expectShared(dataLost);
  });

  it('stays local while Redis answers reads and refuses writes', async () => {
    await operator.replicaof('127.0.0.1', 1);
    await limits.charge(on('a'), 1);
    await operator.config('RESETSTAT');
    const probes = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await operator.info('commandstats'))?.[1] ?? 0);
    const start = performance.now();
    await until(async () => (await probes()) >= 3, { what: 'three probes' });
    expect(performance.now() - start).toBeGreaterThan(450);
    expect(limits.state).toBe('local');
    expect(lines).toEqual(['limits_local']);
  });

  it('admits at most one extra burst when Redis loses its data', async () => {
    const admittedOf = async (): Promise<number> => {
      const states = await Promise.all(Array.from({ length: 15 }, () => limits.charge(on('flushed'), 100)));
      return states.filter(({ admitted }) => admitted).length;
    };
    expect(await admittedOf()).toBe(10);
    await operator.flushall();
    expect(await admittedOf()).toBe(10);
    expect(limits.state).toBe('shared');
    expect(lines).toEqual([]);
  });

  it('reports loss and return of Redis without requests', async () => {
    const states: string[] = [];
    const idle = sharedLimits({
      redis: redisLimits({ client, prefix: 'limits:' }),
      local: memoryLimits({ now: Date.now, startEmpty: true }),
      now: Date.now,
      log: { info: () => undefined, warn: () => undefined },
      onStateChange: (state) => states.push(state),
      idleProbeMs: 50,
    });
    await until(() => idle.state === 'shared', { what: 'the first answer' });
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    await until(() => idle.state === 'local', { what: 'the loss' });
    await redis.restart();
    await until(() => idle.state === 'shared', { what: 'the return' });
    expect(states).toEqual(['local', 'shared', 'local', 'shared']);
    idle.close();
  });

  it('continues after an unnoticed restart', async () => {
    await limits.charge(on('known'), 1);
    await redis.restart();
    await until(() => client.status === 'ready', { what: 'the client' });
    expect(await limits.charge(on('known'), 1)).toMatchObject({ admitted: true, remaining: 999 });
  });

  it('starts while Redis is away', async () => {
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    const late = open(redis.port);
    const started = sharedLimits({
      redis: redisLimits({ client: late, prefix: 'limits:' }),
      local: memoryLimits({ now: Date.now, startEmpty: true }),
      now: Date.now,
      log: { info: () => undefined, warn: () => undefined },
    });
    expect(await started.charge(on('a'), 1)).toMatchObject({ admitted: true });
    await redis.restart();
    await until(() => started.state === 'shared', { what: 'the shared limits' });
    started.close();
    late.disconnect();
  });
});
