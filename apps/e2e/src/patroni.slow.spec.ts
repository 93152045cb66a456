import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { install, type Installation } from './harness/installation.ts';
import { answersTo, batchOrders, checkReplays, startLoad, type Load } from './harness/load.ts';
import { patroniCluster, patroniPrograms, type PatroniCluster } from './harness/patroni-cluster.ts';
import { sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const programs = patroniPrograms();
if (programs === undefined)
  process.stderr.write(
    'SKIPPED: PostgreSQL under Patroni: needs patroni, etcd, haproxy and an installed PostgreSQL.\n',
  );

/** Of the contract: measured from the moment at which the new leader accepts writes. */
const writesAgainWithinMs = 5_000;
const underLoadMs = 1_500;
const storyTimeoutMs = 300_000;

(programs === undefined ? describe.skip : describe)(
  'PostgreSQL under Patroni with etcd and HAProxy, under load',
  () => {
    let cluster: PatroniCluster;
    let installation: Installation;
    let networkId: string;
    let load: Load;
    /** Milliseconds until both processes had a write acknowledged again. */
    const table: { what: string; againMs: number }[] = [];
    beforeAll(async () => {
      cluster = await patroniCluster(programs!);
      installation = await install({ postgres: { url: cluster.url }, gateways: 2 });
      networkId = await installation.newNetwork();
      const { rawKey } = await installation.newKey(networkId);
      load = startLoad({
        targets: installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey)),
        ...{ senders: 16, nextOrder: batchOrders(5, 'patroni'), replayPercent: 20, pauseMs: 50 },
        giveUpAfterMs: 120_000,
      });
      await delay(underLoadMs);
    }, setupTimeoutMs);
    afterAll(async () => {
      await installation.stop();
      await cluster.stop();
      process.stderr.write(`${JSON.stringify(table)}\n`);
    }, setupTimeoutMs);

    const writesAgain = async (what: string): Promise<void> => {
      const sinceMs = performance.now();
      const isBack = (target: number): boolean =>
        load.attempts.some(
          (attempt) => attempt.target === target && attempt.startedMs > sinceMs && attempt.answer?.status === 200,
        );
      await until(() => isBack(0) && isBack(1), { timeoutMs: 60_000, what: `writes after ${what}` });
      const againMs = Math.round(performance.now() - sinceMs);
      table.push({ what, againMs });
      expect(againMs).toBeLessThan(writesAgainWithinMs);
      await delay(underLoadMs);
    };

    it(
      'goes on after a switchover',
      async () => {
        await cluster.switchOver();
        await writesAgain('a switchover');
        await cluster.untilSynchronous();
      },
      storyTimeoutMs,
    );

    it(
      'goes on after the loss of the leader, which rejoins',
      async () => {
        const lost = await cluster.loseLeader();
        await writesAgain('the loss of the leader');
        cluster.startNode(lost);
        await cluster.untilSynchronous();
        expect(await cluster.leader()).not.toBe(lost);
      },
      storyTimeoutMs,
    );

    it(
      'goes on while the leader is cut off etcd, which then takes no writes',
      async () => {
        const cutOff = await cluster.cutOffLeader();
        await writesAgain('the partition');
        await expect(executeSql(cluster.urlOf(cutOff), 'CREATE TABLE stray ()')).rejects.toThrow();
        await cluster.reconnect(cutOff);
        await cluster.untilSynchronous();
        expect(await cluster.leader()).not.toBe(cutOff);
      },
      storyTimeoutMs,
    );

    it(
      'loses nothing that was acknowledged, and writes nothing twice',
      async () => {
        await load.finish();
        checkReplays(load.attempts);
        const { admin, folder, verifierKey, checkpointFolders } = installation;
        const channel = `${networkId}.main`;
        const answers = answersTo(load.attempts).flatMap(({ status, text }) => (status === 200 ? [text] : []));
        const story = { admin, channel, folder, verifierKey, answers, savedFolders: checkpointFolders };
        const size = await judgeLog(story);
        expect(size).toBeGreaterThan(0);
        expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true, size });
      },
      storyTimeoutMs,
    );
  },
);
