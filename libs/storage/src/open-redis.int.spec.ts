import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, throwawayRedis, until, type ThrowawayRedis } from '@sealgate/testing';
import { openRedis, type RedisHandle, type RedisState } from './index.ts';

let server: ThrowawayRedis;
const opened: RedisHandle[] = [];
let states: RedisState[] = [];
let problems: (string | undefined)[] = [];

const open = (url = server.url): RedisHandle => {
  const handle = openRedis({
    url,
    name: 'redis-test',
    connectTimeoutMs: 300,
    commandTimeoutMs: 200,
    onStateChange: (state, problem) => {
      states.push(state);
      problems.push(problem);
    },
  });
  opened.push(handle);
  return handle;
};
const ready = async (handle: RedisHandle): Promise<void> =>
  until(() => handle.state === 'ready', { timeoutMs: 10_000 });

/** Milliseconds until the command was rejected. */
const refusedAfter = async (call: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await expect(call).rejects.toBeInstanceOf(Error);
  return performance.now() - startedAt;
};

describeWithRedis('openRedis', () => {
  beforeAll(async () => {
    server = await throwawayRedis();
  }, 120_000);
  afterAll(() => server.stop());
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((handle) => handle.close()));
    states = [];
    problems = [];
  });

  it('is away until the server has answered, then ready with its client name set', async () => {
    const handle = open();
    expect(handle.state).toBe('away');
    await ready(handle);
    expect(states).toEqual(['ready']);
    expect(await handle.client.set('a', '1')).toBe('OK');
    expect(await handle.client.client('GETNAME')).toBe('redis-test');
  });

  it('rejects commands at once while the server is away, without an unhandled error', async () => {
    const handle = open('redis://127.0.0.1:1');
    expect(await refusedAfter(handle.client.get('a'))).toBeLessThan(150);
    await until(() => handle.client.status === 'reconnecting');
    expect(await refusedAfter(handle.client.get('a'))).toBeLessThan(150);
    expect(handle.state).toBe('away');
    expect(states).toEqual(['away']);
    expect(problems).toEqual(['Redis is away: ECONNREFUSED']);
  });

  it('reports when the server goes away and comes back, and the cause', async () => {
    const handle = open();
    await ready(handle);
    process.kill(server.pid, 'SIGKILL');
    await until(() => handle.state === 'away');
    expect(await refusedAfter(handle.client.get('a'))).toBeLessThan(150);
    await server.restart();
    await ready(handle);
    expect(states).toEqual(['ready', 'away', 'ready']);
    expect(await handle.client.get('a')).toBeNull();
  }, 30_000);

  it('connects again where the client has given up for good, but not once it was closed', async () => {
    const handle = open();
    await ready(handle);
    handle.client.disconnect();
    await until(() => handle.client.status === 'end');
    await ready(handle);
    expect(await handle.client.set('c', '1')).toBe('OK');
    await handle.close();
    await until(() => handle.client.status === 'end');
    await delay(700);
    expect(handle.client.status).toBe('end');
  });

  it('rejects each command within the command timeout while the server is frozen, then reconnects', async () => {
    const handle = open();
    await ready(handle);
    process.kill(server.pid, 'SIGSTOP');
    try {
      const waits = await Promise.all([1, 2, 3].map(() => refusedAfter(handle.client.set('b', '1'))));
      expect(Math.max(...waits)).toBeLessThan(1_000);
      await until(() => handle.state === 'away');
      expect(problems.at(-1)).toMatch(/^Redis is away: Socket timeout/);
      expect(handle.problem).toBe(problems.at(-1));
      expect(await refusedAfter(handle.client.get('b'))).toBeLessThan(150);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await ready(handle);
    expect(await handle.client.set('b', '2')).toBe('OK');
  }, 30_000);

  it('connects to a server that was frozen from the start, once it is thawed', async () => {
    process.kill(server.pid, 'SIGSTOP');
    let handle: RedisHandle;
    try {
      handle = open();
      expect(await refusedAfter(handle.client.get('a'))).toBeLessThan(150);
      await until(() => handle.client.status === 'reconnecting', { timeoutMs: 10_000 });
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await ready(handle);
  }, 30_000);

  it('closes in time while the server is frozen', async () => {
    const handle = open();
    await ready(handle);
    process.kill(server.pid, 'SIGSTOP');
    try {
      const startedAt = performance.now();
      await handle.close();
      expect(performance.now() - startedAt).toBeLessThan(1_500);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    expect(await refusedAfter(handle.client.get('a'))).toBeLessThan(150);
  });

  it('closes a client that never connected', async () => {
    const handle = open('redis://127.0.0.1:1');
    await handle.close();
    await until(() => handle.client.status === 'end');
  });
});
