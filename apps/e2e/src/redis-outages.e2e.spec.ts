import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, slowProxy, type SlowProxy, until } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { expectCountersAgree } from './harness/counters.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { answersTo, batchOrders, checkReplays, startLoad } from './harness/load.ts';
import { redisCommand } from './harness/redis-control.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const outageMs = scaled({ full: 5_000, quick: 1_500 });
const storyTimeoutMs = 120_000;

describeWithRedis('An outage of Redis', () => {
  let servers: Servers;
  let proxy: SlowProxy;
  let installation: Installation;
  let networkId: string;
  let targets: readonly Sender[];
  /** Every answer so far. */
  const answers: HttpAnswer[] = [];
  beforeAll(async () => {
    servers = await breakableServers();
    proxy = await slowProxy(servers.redis.port);
    const url = new URL(servers.redis.url);
    url.port = String(proxy.port);
    installation = await install({ postgres: servers.postgres, redis: { url: url.href }, gateways: 2 });
    networkId = await installation.newNetwork();
    const { rawKey } = await installation.newKey(networkId);
    targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await proxy.close();
    await servers.stop();
  }, setupTimeoutMs);

  const command = (...words: string[]): Promise<string> => redisCommand(servers.redis.url, ...words);

  /** Waits until all gateways report that they share their limits through Redis. */
  const isShared = async (): Promise<boolean> => {
    const answers = await Promise.all(installation.gateways.map(({ ops }) => ops.send({ path: '/health/ready' })));
    return answers.every(({ status, body }) => status === 200 && membersOf(body)['limits'] === 'shared');
  };

  const outages: readonly [string, () => unknown, () => unknown][] = [
    ['killed', () => process.kill(servers.redis.pid, 'SIGKILL'), () => servers.redis.restart()],
    [
      'stopped and frozen',
      () => process.kill(servers.redis.pid, 'SIGSTOP'),
      () => process.kill(servers.redis.pid, 'SIGCONT'),
    ],
    ['answering READONLY', () => command('REPLICAOF', '127.0.0.1', '1'), () => command('REPLICAOF', 'NO', 'ONE')],
    [
      'out of memory',
      () => command('CONFIG', 'SET', 'maxmemory', '1'),
      () => command('CONFIG', 'SET', 'maxmemory', '0'),
    ],
    ['500 ms slow', () => (proxy.delayMs = 500), () => (proxy.delayMs = 0)],
    [
      'flushed, scripts included',
      () => Promise.all([command('FLUSHALL'), command('SCRIPT', 'FLUSH')]),
      () => undefined,
    ],
  ];

  it.each(outages)(
    'does not affect writers: %s',
    async (what, begin, end) => {
      await until(isShared, { timeoutMs: 20_000, what: 'limits shared through Redis' });
      const prefix = what.replaceAll(/[^a-z]+/g, '-');
      const load = startLoad({ targets, senders: 8, nextOrder: batchOrders(3, prefix), replayPercent: 30 });
      await until(() => load.attempts.length > 200, { timeoutMs: 30_000, what: 'load' });
      await begin();
      const beganMs = performance.now();
      const meeting = () => load.attempts.filter(({ endedMs }) => endedMs >= beganMs);
      await delay(outageMs);
      await until(() => meeting().length > 100, { timeoutMs: 30_000, what: 'requests that meet the outage' });
      await end();
      await until(isShared, { timeoutMs: 20_000, what: 'limits shared through Redis again' });
      await load.finish();
      answers.push(...answersTo(load.attempts));

      const met = meeting();
      expect(met.filter(({ answer }) => answer?.status !== 200).map(({ answer }) => answer?.text ?? 'cut')).toEqual([]);
      expect(Math.max(...met.map(({ startedMs, endedMs }) => endedMs - startedMs))).toBeLessThan(boundMs(300));
      checkReplays(load.attempts);
      const bodies = await Promise.all(installation.gateways.map(({ ops }) => ops.send({ path: '/health/live' })));
      expect(bodies.map(({ status }) => status)).toEqual([200, 200]);
    },
    storyTimeoutMs,
  );

  it('exhausts no limit: the first request after the loss is admitted, whatever was used before', async () => {
    const { rawKey } = await installation.newKey(networkId, { limits: { ratePerSecond: 1, burst: 100 } });
    const from = sender(installation.gateway.public, networkId, rawKey);
    const send = async (count: number): Promise<number> => {
      const answer = await from.post({ assets: Array.from({ length: count }, (_, n) => ({ n })) });
      answers.push(answer);
      return answer.status;
    };
    expect(await send(100)).toBe(200);
    expect(await send(100)).toBe(429);
    process.kill(servers.redis.pid, 'SIGKILL');
    expect(await send(1)).toBe(200);
    // Now this process decides alone, starting from an empty burst.
    expect(await send(100)).toBe(429);
    await servers.redis.restart();
    await until(isShared, { timeoutMs: 20_000, what: 'limits shared through Redis again' });
    // The loss of Redis costs one burst, and no more.
    expect(await send(100)).toBe(200);
    expect(await send(100)).toBe(429);
  });

  it(
    'leaves a log that contains every answer once, and counters that agree with it',
    async () => {
      const { admin, folder, verifierKey, checkpointFolders } = installation;
      const channel = `${networkId}.main`;
      const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
      await judgeLog({ admin, channel, folder, verifierKey, answers: texts, savedFolders: checkpointFolders });
      await expectCountersAgree(installation, { answers, channels: [channel] });
    },
    storyTimeoutMs,
  );
});
