import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeWithRedis, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { expectCountersAgree } from './harness/counters.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { acceptedTexts, answersTo, batchOrders, checkReplays, startLoad, type Load } from './harness/load.ts';
import { canSeeProcesses, cutConnections } from './harness/postgres-processes.ts';
import { redisCommand } from './harness/redis-control.ts';
import { boundMs } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const storyTimeoutMs = 120_000;

describeWithRedis('Connections dropped under load', () => {
  let servers: Servers;
  let installation: Installation;
  let networkId: string;
  let targets: readonly Sender[];
  let load: Load;
  beforeEach(async () => {
    servers = await breakableServers();
    installation = await install({ ...servers, gateways: 2 });
    networkId = await installation.newNetwork();
    const { rawKey } = await installation.newKey(networkId);
    targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
    load = startLoad({ targets, senders: 16, nextOrder: batchOrders(5, 'dropped'), replayPercent: 20 });
    await accepted(300);
  }, setupTimeoutMs);
  afterEach(async () => {
    await load.finish();
    await installation.stop();
    await servers.stop();
  }, setupTimeoutMs);

  const isAccepted = ({ answer }: { answer?: { status: number } }): boolean => answer?.status === 200;
  const accepted = (count: number): Promise<void> =>
    until(() => load.attempts.filter(isAccepted).length >= count, { timeoutMs: 30_000, what: `${count} accepts` });

  /** Every process accepts requests from now on, within the time of the contract. */
  async function resumes(): Promise<void> {
    const sinceMs = performance.now();
    for (const target of [0, 1]) {
      const again = (): boolean =>
        load.attempts.some(
          (attempt) => attempt.target === target && attempt.startedMs > sinceMs && isAccepted(attempt),
        );
      await until(again, { timeoutMs: boundMs(5_000), what: `accepts by gateway ${target + 1}` });
    }
  }

  /** Every answer is in the log, every counter agrees with it, and no process was restarted. */
  async function settle(pids: readonly number[]): Promise<void> {
    await load.finish();
    checkReplays(load.attempts);
    const { admin, folder, verifierKey, checkpointFolders } = installation;
    const channel = `${networkId}.main`;
    const answers = acceptedTexts(load.attempts);
    await judgeLog({ admin, channel, folder, verifierKey, answers, savedFolders: checkpointFolders });
    await expectCountersAgree(installation, { answers: answersTo(load.attempts), channels: [channel] });
    expect(installation.gateways.map(({ pid }) => pid)).toEqual(pids);
  }

  (canSeeProcesses ? it : it.skip)(
    'to the database are re-established, and nothing is lost or written twice',
    async () => {
      const pids = installation.gateways.map(({ pid }) => pid);
      const database = new URL(servers.postgres.url).pathname.slice(1);
      for (let round = 0; round < 5; round += 1) {
        expect(cutConnections(servers.postgres.pid, database)).toBeGreaterThan(0);
        await resumes();
        await delay(50);
      }
      await settle(pids);
      expect(load.attempts.some(({ answer }) => answer?.status === 401 || answer?.status === 429)).toBe(false);
    },
    storyTimeoutMs,
  );

  it(
    'to Redis are re-established without any visible effect',
    async () => {
      const pids = installation.gateways.map(({ pid }) => pid);
      const already = load.attempts.length;
      for (let round = 0; round < 5; round += 1) {
        expect(await redisCommand(servers.redis.url, 'CLIENT', 'KILL', 'TYPE', 'normal')).toMatch(/^:[1-9]/);
        await resumes();
        await delay(50);
      }
      await settle(pids);
      const since = load.attempts.slice(already);
      expect(since.length).toBeGreaterThan(100);
      expect(new Set(since.map(({ answer }) => answer?.status))).toEqual(new Set([200]));
    },
    storyTimeoutMs,
  );

  it(
    'and a wiped Redis leave keys and networks unchanged, and every answer the same',
    async () => {
      const pids = installation.gateways.map(({ pid }) => pid);
      await redisCommand(servers.redis.url, 'FLUSHALL');
      await resumes();
      await load.finish();
      await redisCommand(servers.redis.url, 'FLUSHALL');
      const first = load.attempts.find(isAccepted)!;
      const again = startLoad({ targets, senders: 1, nextOrder: (n) => (n === 0 ? first.order : undefined) });
      await again.finish();
      const attempts = [...load.attempts, ...again.attempts];
      checkReplays(attempts);
      expect(again.attempts[0]!.answer!.headers['idempotent-replayed']).toBe('true');
      expect(await installation.admin.ask('GET', `/networks/${networkId}`)).toMatchObject({ networkId });
      await expectCountersAgree(installation, { answers: answersTo(attempts), channels: [`${networkId}.main`] });
      expect(installation.gateways.map(({ pid }) => pid)).toEqual(pids);
    },
    storyTimeoutMs,
  );
});
