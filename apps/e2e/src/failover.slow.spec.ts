import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, postgresPair, until, type PostgresPair } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { expectCountersAgree } from './harness/counters.ts';
import { install, type Installation } from './harness/installation.ts';
import { answersTo, batchOrders, checkReplays, codeOf, startLoad, type Attempt, type Load } from './harness/load.ts';
import { canSeeProcesses } from './harness/postgres-processes.ts';
import { scaled } from './harness/scale.ts';
import { sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

/** `npm run chaos` promotes more often; here the counters and the old server are compared too. */
const promotions = scaled({ full: 20, quick: 2 });
const storyTimeoutMs = 120_000 + promotions * 60_000;
/** Of the contract: measured from the moment at which the new primary accepts writes. */
const writesAgainWithinMs = 5_000;
const underLoadMs = 1_500;

describe('A failover of PostgreSQL to its synchronous standby, under load', () => {
  let pair: PostgresPair;
  let installation: Installation;
  let networkId: string;
  let load: Load;
  /** Milliseconds until each process had its first write acknowledged, by promotion. */
  const table: { promotion: number; how: string; acknowledged: number; unknown: number; againMs: readonly number[] }[] =
    [];
  beforeAll(async () => {
    pair = await postgresPair();
    installation = await install({ postgres: { url: pair.url }, gateways: 2 });
    networkId = await installation.newNetwork();
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await pair.stop();
    process.stderr.write(`${JSON.stringify(table)}\n`);
  }, setupTimeoutMs);

  const isAccepted = ({ answer }: Attempt): boolean => answer?.status === 200;
  const acceptedBy = (target: number, afterMs: number): Attempt | undefined =>
    load.attempts.find((attempt) => attempt.target === target && attempt.startedMs > afterMs && isAccepted(attempt));

  it(
    'resumes within five seconds of each promotion, and writes nothing to the old server',
    async () => {
      const { rawKey } = await installation.newKey(networkId);
      const targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
      const nextOrder = batchOrders(5, 'failover');
      load = startLoad({ targets, senders: 24, nextOrder, replayPercent: 20, pauseMs: 50 });
      for (let promotion = 1; promotion <= promotions; promotion += 1) {
        const before = load.attempts.length;
        await delay(underLoadMs);
        const how = canSeeProcesses && promotion % 2 === 0 ? 'frozen' : 'killed';
        await pair.failOver(how);
        const promotedMs = performance.now();
        await until(() => [0, 1].every((target) => acceptedBy(target, promotedMs) !== undefined), {
          timeoutMs: 30_000,
          what: `writes after promotion ${promotion}`,
        });
        const againMs = [0, 1].map((target) => Math.round(acceptedBy(target, promotedMs)!.endedMs - promotedMs));
        expect(Math.max(...againMs)).toBeLessThan(writesAgainWithinMs);
        if (promotion % 4 < 3) await tempt(how);
        await pair.rejoin();
        const met = load.attempts.slice(before);
        const unknown = met.filter(({ answer }) => answer !== undefined && codeOf(answer) === 'OUTCOME_UNKNOWN').length;
        table.push({ promotion, how, acknowledged: met.filter(isAccepted).length, unknown, againMs });
      }
      await load.finish();
      checkReplays(load.attempts);
      const refused = load.attempts.flatMap(({ answer }) =>
        answer === undefined || answer.status === 200 ? [] : [codeOf(answer)],
      );
      const retryable = [
        'UNAVAILABLE',
        'LEDGER_UNAVAILABLE',
        'OUTCOME_UNKNOWN',
        'IDEMPOTENCY_IN_PROGRESS',
        'OVERLOADED',
      ];
      expect(refused.filter((code) => !retryable.includes(code ?? ''))).toEqual([]);
      expect(refused.length).toBeGreaterThan(0); // The promotions affected some requests.
    },
    storyTimeoutMs,
  );

  /**
   * The old primary comes back, accepts writes, and every connection to the new one is cut: no process returns to the
   * old one.
   */
  async function tempt(how: string): Promise<void> {
    await pair.startOld();
    // A frozen primary keeps its clients, and its commits wait for its former standby.
    const takesWrites = how === 'killed';
    if (takesWrites)
      await executeSql(pair.standbyUrl, 'CREATE TABLE kept AS SELECT sum(size) AS size FROM ledger.channels');
    const cutAtMs = performance.now();
    await executeSql(
      pair.primaryUrl,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ingest-gateway'`,
    );
    await until(() => [0, 1].every((target) => acceptedBy(target, cutAtMs) !== undefined), {
      timeoutMs: 30_000,
      what: 'writes after the cut',
    });
    await delay(underLoadMs);
    if (!takesWrites) return;
    // Divides by zero if it has grown.
    await executeSql(pair.standbyUrl, 'SELECT 1 / (sum(size) = (SELECT size FROM kept))::integer FROM ledger.channels');
  }

  it(
    'loses nothing that was acknowledged, writes nothing twice, and the counters agree',
    async () => {
      const { admin, folder, verifierKey, checkpointFolders } = installation;
      const channel = `${networkId}.main`;
      const answers = answersTo(load.attempts)
        .filter(({ status }) => status === 200)
        .map(({ text }) => text);
      const size = await judgeLog({ admin, channel, folder, verifierKey, answers, savedFolders: checkpointFolders });
      expect(size).toBeGreaterThan(0);
      expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true, size });
      await expectCountersAgree(installation, {
        answers: load.attempts.flatMap(({ answer }) => (answer === undefined ? [] : [answer])),
        channels: [channel],
      });
    },
    storyTimeoutMs,
  );

  it(
    'leaves an event for every unknown outcome, with its result',
    async () => {
      for (const { answer } of load.attempts) {
        if (answer === undefined || codeOf(answer) !== 'OUTCOME_UNKNOWN') continue;
        const read = () => installation.admin.get(`/events/${String(membersOf(answer.body)['eventId'])}`);
        await until(async () => (await read()).status === 200, { timeoutMs: 10_000, what: 'its event' });
        expect(membersOf((await read()).body)).toMatchObject({ status: 'committed' });
      }
    },
    storyTimeoutMs,
  );
});
