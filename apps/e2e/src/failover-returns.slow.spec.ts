import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  describeWithRedis,
  postgresPair,
  throwawayRedis,
  until,
  type PostgresPair,
  type ThrowawayRedis,
} from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { install, type Installation } from './harness/installation.ts';
import { batchOrders, checkReplays, startLoad, type Load } from './harness/load.ts';
import type { WriteAnswer } from './harness/answers.ts';
import { canSeeProcesses } from './harness/postgres-processes.ts';
import { redisCommand } from './harness/redis-control.ts';
import { readRows, type Row } from './harness/row-reader.ts';
import { scaled } from './harness/scale.ts';
import { sender } from './harness/sender.ts';

const promotions = scaled({ full: 12, quick: 3 });
const storyTimeoutMs = 120_000 + promotions * 60_000;
const underLoadMs = 500;

/**
 * What remembers the new primary when the process restarts, and whether the new primary answers it. Where nothing does,
 * both servers must answer.
 */
const plans = [
  { remembers: 'redis', answers: 'old' },
  { remembers: 'folder', answers: 'old' },
  { remembers: 'nothing', answers: 'both' },
  { remembers: 'folder, redis frozen', answers: 'old' },
  { remembers: 'redis', answers: 'both' },
  { remembers: 'folder, redis frozen', answers: 'both' },
] as const;

describeWithRedis('A former primary that returns while a process restarts, under load', () => {
  let pair: PostgresPair;
  let redis: ThrowawayRedis;
  let installation: Installation;
  let stateDir: string;
  let load: Load;
  const table: object[] = [];
  beforeAll(async () => {
    [pair, redis] = await Promise.all([postgresPair(), throwawayRedis()]);
    stateDir = mkdtempSync(join(tmpdir(), 'sealgate-e2e-state-'));
    const postgres = { url: pair.url };
    installation = await install({ postgres, redis, env: { STATE_DIR: stateDir } });
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await Promise.all([pair.stop(), redis.stop()]);
    rmSync(stateDir, { recursive: true, force: true });
    process.stderr.write(`${JSON.stringify(table)}\n`);
  }, setupTimeoutMs);

  const acceptedAfter = (ms: number): boolean =>
    load.attempts.some(({ startedMs, answer }) => startedMs > ms && answer?.status === 200);
  const writesAgain = (what: string): Promise<void> => {
    const since = performance.now();
    return until(() => acceptedAfter(since), { timeoutMs: 30_000, what });
  };

  it(
    'writes nothing to it, and everything that was acknowledged is on the new primary, once',
    async () => {
      const networkId = await installation.newNetwork();
      const { rawKey } = await installation.newKey(networkId);
      const targets = [sender(installation.gateway.public, networkId, rawKey)];
      load = startLoad({ targets, senders: 8, nextOrder: batchOrders(3, 'return'), replayPercent: 20, pauseMs: 50 });
      for (let number = 0; number < promotions; number += 1) {
        const plan = plans[number % plans.length]!;
        await delay(underLoadMs);
        await pair.failOver('killed');
        await writesAgain(`writes after promotion ${number}`);
        const refusal = await restart(plan);
        await writesAgain(`writes after restart ${number}`);
        expectNothingNew(await readRows(pair.standbyUrl));
        await pair.rejoin();
        table.push({ number, ...plan, refusal });
      }
      await load.finish();
      checkReplays(load.attempts);
      const acknowledged = acknowledgedRows();
      const rows = await readRows(pair.primaryUrl);
      expect(acknowledged.size).toBeGreaterThan(promotions);
      expect(new Set(rows).size).toBe(rows.length);
      expect(rows.filter((row) => !acknowledged.has(row))).toEqual([]);
      const there = new Set(rows);
      expect([...acknowledged].filter((row) => !there.has(row))).toEqual([]);
    },
    storyTimeoutMs,
  );

  function acknowledgedRows(): Set<Row> {
    const records = load.attempts.flatMap(({ answer }) =>
      answer?.status === 200 ? (JSON.parse(answer.text) as WriteAnswer).records : [],
    );
    return new Set(records.map(({ channel, index, id }) => `${channel}/${index}/${id}`));
  }

  /** Rows of the old primary; `beforeReturn` was read when it had just returned. */
  let beforeReturn: readonly Row[] = [];
  function expectNothingNew(rows: readonly Row[]): void {
    const known = new Set(beforeReturn);
    expect(rows.filter((row) => !known.has(row))).toEqual([]);
  }

  /** Kills the process, lets the old primary return, and starts it again. Returns what readiness said meanwhile. */
  async function restart({ remembers, answers }: (typeof plans)[number]): Promise<string> {
    const { gateway } = installation;
    await gateway.kill();
    await pair.startOld();
    beforeReturn = await readRows(pair.standbyUrl);
    if (remembers === 'redis' || remembers === 'nothing') rmSync(stateDir, { recursive: true });
    if (remembers === 'folder' || remembers === 'nothing') await redisCommand(redis.url, 'FLUSHALL');
    const isFrozen = remembers === 'folder, redis frozen' && canSeeProcesses;
    if (isFrozen) process.kill(redis.pid, 'SIGSTOP');
    const thaw = answers === 'old' && canSeeProcesses ? pair.freezePrimary() : undefined;
    const started = gateway.start();
    let refusal = '';
    try {
      if (thaw !== undefined) {
        const says = async (): Promise<boolean> => {
          refusal = await gateway.ops.send({ path: '/health/ready', timeoutMs: 5_000 }).then(
            ({ text }) => text,
            () => '',
          );
          return refusal.includes('is a former primary on timeline');
        };
        await until(says, { timeoutMs: 60_000, what: 'readiness that names the former primary' });
        thaw();
      }
      await started;
    } finally {
      thaw?.();
      if (isFrozen) process.kill(redis.pid, 'SIGCONT');
    }
    return refusal;
  }
});
