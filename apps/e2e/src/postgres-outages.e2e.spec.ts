import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem, until } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { expectCountersAgree } from './harness/counters.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { answersTo, batchOrders, checkReplays, codeOf, startLoad, type Attempt } from './harness/load.ts';
import { canSeeProcesses, freezePostgres } from './harness/postgres-processes.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const outageMs = scaled({ full: 10_000, quick: 4_000 });
const storyTimeoutMs = 180_000;
/** The ledger's own deadline and a little: the contract asks for an answer in bounded time. */
const answeredWithinMs = 5_000;

describeWithRedis('An outage of PostgreSQL', () => {
  let servers: Servers;
  let installation: Installation;
  let networkId: string;
  let rawKey: string;
  let targets: readonly Sender[];
  const attempts: Attempt[] = [];
  /** Answers outside of any load. */
  const others: HttpAnswer[] = [];
  beforeAll(async () => {
    servers = await breakableServers();
    installation = await install({ ...servers, gateways: 2 });
    networkId = await installation.newNetwork();
    ({ rawKey } = await installation.newKey(networkId));
    targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await servers.stop();
  }, setupTimeoutMs);

  const readiness = async (): Promise<number[]> => {
    const answers = installation.gateways.map(({ ops }) => ops.send({ path: '/health/ready', timeoutMs: 5_000 }));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  const isAccepted = ({ answer }: Attempt): boolean => answer?.status === 200;

  let thaw = (): void => undefined;
  const outages: readonly [string, () => unknown, () => unknown][] = [
    ['stopped', () => servers.postgres.halt('fast'), () => servers.postgres.restart()],
    ['killed', () => process.kill(servers.postgres.pid, 'SIGKILL'), () => servers.postgres.restart()],
    ...(canSeeProcesses
      ? ([['frozen', () => (thaw = freezePostgres(servers.postgres.pid)), () => thaw()]] as const)
      : []),
  ];

  /** What whoever comes meanwhile is told, with a key that is right, one that is unknown and one that is none. */
  async function askMeanwhile(): Promise<void> {
    for (const [key, code] of [
      [rawKey, 'UNAVAILABLE'],
      [`ingest_${'D'.repeat(43)}`, 'UNAVAILABLE'],
      ['malformed', 'UNAUTHENTICATED'],
    ] as const) {
      const answer = await sender(installation.gateway.public, networkId, key).post({ type: 'ping' });
      others.push(answer);
      expectProblem(answer, code);
      expect(answer.durationMs).toBeLessThan(boundMs(answeredWithinMs));
    }
    const reading = await installation.admin.get(`/networks/${networkId}`);
    expect(reading.status).toBe(503);
    const listing = await installation.admin.get('/ledger/channels');
    expectProblem(listing, 'LEDGER_UNAVAILABLE');
  }

  it.each(outages)(
    'is 503 in bounded time and never 401, and ends by itself: %s',
    async (what, begin, end) => {
      const pids = installation.gateways.map(({ pid }) => pid);
      const load = startLoad({
        targets,
        senders: 16,
        nextOrder: batchOrders(5, what),
        replayPercent: 20,
        pauseMs: 100,
      });
      await until(() => load.attempts.filter(isAccepted).length > 200, { timeoutMs: 30_000, what: 'load' });
      await begin();
      const beganMs = performance.now();
      await until(async () => (await readiness()).every((status) => status === 503), {
        timeoutMs: 10_000,
        what: 'not ready',
      });
      const live = await Promise.all(installation.gateways.map(({ ops }) => ops.send({ path: '/health/live' })));
      expect(live.map(({ status }) => status)).toEqual([200, 200]);
      await askMeanwhile();
      await delay(Math.max(0, outageMs - (performance.now() - beganMs)));
      await end();
      const endedMs = performance.now();
      await until(async () => (await readiness()).every((status) => status === 200), {
        timeoutMs: 20_000,
        what: 'ready again',
      });
      for (const target of [0, 1]) {
        const again = (): boolean =>
          load.attempts.some(
            (attempt) => attempt.target === target && attempt.startedMs > endedMs && isAccepted(attempt),
          );
        await until(again, { timeoutMs: 20_000, what: 'accepts again' });
      }
      await load.finish();
      attempts.push(...load.attempts);

      const met = load.attempts.filter((attempt) => attempt.endedMs >= beganMs && attempt.startedMs < endedMs);
      const refusals = met.flatMap(({ answer }) => (answer === undefined || answer.status === 200 ? [] : [answer]));
      expect(refusals.length).toBeGreaterThan(16);
      for (const answer of refusals) expectRefusal(answer);
      expect(Math.max(...met.map((attempt) => attempt.endedMs - attempt.startedMs))).toBeLessThan(
        boundMs(answeredWithinMs),
      );
      checkReplays(load.attempts);
      expect(installation.gateways.map(({ pid }) => pid)).toEqual(pids);
    },
    storyTimeoutMs,
  );

  function expectRefusal(answer: HttpAnswer): void {
    const code = codeOf(answer) ?? 'none';
    expect(['UNAVAILABLE', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'IDEMPOTENCY_IN_PROGRESS']).toContain(code);
    if (code !== 'OUTCOME_UNKNOWN') return expectProblem(answer, code);
    const { eventId, transactionIds } = membersOf(answer.body);
    expectProblem(answer, code, { members: { eventId, transactionIds } });
    expect(eventId).toMatch(/^evt_/);
    expect(transactionIds).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  }

  it(
    'loses nothing that was acknowledged, writes nothing twice, and the counters agree',
    async () => {
      const { admin, folder, verifierKey, checkpointFolders } = installation;
      const channel = `${networkId}.main`;
      const answers = [...answersTo(attempts), ...others];
      const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
      await judgeLog({ admin, channel, folder, verifierKey, answers: texts, savedFolders: checkpointFolders });
      expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true });
      await expectCountersAgree(installation, { answers, channels: [channel] });
    },
    storyTimeoutMs,
  );

  it(
    'leaves an event behind every outcome that was unknown, which tells it',
    async () => {
      const unknown = attempts.filter(({ answer }) => answer !== undefined && codeOf(answer) === 'OUTCOME_UNKNOWN');
      for (const { answer } of unknown) {
        const { eventId } = membersOf(answer!.body);
        const event = await installation.admin.get(`/events/${String(eventId)}`);
        expect({ eventId, status: event.status, body: event.body }).toMatchObject({
          status: 200,
          body: { status: 'committed' },
        });
      }
      expect(unknown.length).toBeGreaterThan(0);
    },
    storyTimeoutMs,
  );
});
