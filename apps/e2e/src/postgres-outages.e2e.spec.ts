import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem, until } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { expectCountersAgree } from './harness/counters.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { answersTo, batchOrders, checkReplays, codeOf, startLoad, type Attempt, type Load } from './harness/load.ts';
import { canSeeProcesses, freezePostgres } from './harness/postgres-processes.ts';
import { boundMs, scaled } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const outageMs = scaled({ full: 10_000, quick: 4_000 });
const storyTimeoutMs = 180_000;
/** The ledger's own deadline and a margin: the contract requires an answer in bounded time. */
const answeredWithinMs = 5_000;

describeWithRedis('An outage of PostgreSQL', () => {
  let servers: Servers;
  let installation: Installation;
  let networkId: string;
  let rawKey: string;
  let targets: readonly Sender[];
  const loads: Load[] = [];
  const allAttempts = (): Attempt[] => loads.flatMap(({ attempts }) => attempts);
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

  afterEach(async () => {
    for (const load of loads) await load.finish();
  }, setupTimeoutMs);

  const readiness = async (): Promise<number[]> => {
    const answers = installation.gateways.map(({ ops }) => ops.send({ path: '/health/ready', timeoutMs: 5_000 }));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  const isAccepted = ({ answer }: Attempt): boolean => answer?.status === 200;

  let thaw = (): void => undefined;
  const outages: [string, () => unknown, () => unknown][] = [
    ['stopped', () => servers.postgres.halt('fast'), () => servers.postgres.restart()],
    ['killed', () => process.kill(servers.postgres.pid, 'SIGKILL'), () => servers.postgres.restart()],
  ];
  if (canSeeProcesses) outages.push(['frozen', () => (thaw = freezePostgres(servers.postgres.pid)), () => thaw()]);

  /** The answers during the outage to a valid, an unknown and a malformed key. */
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
  }

  /** The operator gets the same answer, also for lists and rows from the database. */
  async function administerMeanwhile(): Promise<void> {
    const asked = [
      ['GET', '/networks'],
      ['GET', `/networks/${networkId}`],
      ['PATCH', `/networks/${networkId}`, { name: 'x' }],
      ['POST', '/networks', { networkId: 'not-now' }],
      ['DELETE', '/networks/never-made'],
      ['GET', `/networks/${networkId}/keys`],
      ['POST', `/networks/${networkId}/keys`, { label: 'x' }],
      ['DELETE', `/networks/${networkId}/keys/key_never_made`],
      ['GET', '/events'],
      ['GET', '/events/evt_never'],
      ['GET', '/ledger/channels'],
      ['GET', `/ledger/channels/${networkId}.main/checkpoint`],
      ['GET', `/ledger/channels/${networkId}.main/records/x/proof`],
      ['POST', `/ledger/channels/${networkId}.main/audit`],
    ] as const;
    const answers = await Promise.all(asked.map(([method, path, body]) => installation.admin.send(method, path, body)));
    const codeFor = (path: string): string => (path.startsWith('/ledger') ? 'LEDGER_UNAVAILABLE' : 'UNAVAILABLE');
    const found = answers.map((answer, place) => [...asked[place]!.slice(0, 2), codeOf(answer)]);
    expect(found).toEqual(asked.map(([method, path]) => [method, path, codeFor(path)]));
    for (const [place, answer] of answers.entries()) {
      expectProblem(answer, codeFor(asked[place]![1]));
      expect(answer.durationMs).toBeLessThan(boundMs(answeredWithinMs));
    }
  }

  /** Lasts at least as long as given, and longer where the work during it takes longer. */
  async function during(
    begin: () => unknown,
    end: () => unknown,
    meanwhile: () => Promise<void>,
  ): Promise<{ beganMs: number; endedMs: number }> {
    await begin();
    const beganMs = performance.now();
    try {
      const isOut = async (): Promise<boolean> => (await readiness()).every((status) => status === 503);
      await until(isOut, { timeoutMs: 10_000, what: 'not ready' });
      await meanwhile();
      await delay(Math.max(0, outageMs - (performance.now() - beganMs)));
    } finally {
      await end();
    }
    return { beganMs, endedMs: performance.now() };
  }

  it.each(outages)(
    'is 503 in bounded time and never 401, and ends by itself: %s',
    async (what, begin, end) => {
      const pids = installation.gateways.map(({ pid }) => pid);
      const load = startLoad({
        targets,
        senders: 48,
        nextOrder: batchOrders(5, what),
        replayPercent: 20,
        pauseMs: 100,
      });
      loads.push(load);
      await until(() => load.attempts.filter(isAccepted).length > 200, { timeoutMs: 30_000, what: 'load' });
      const { beganMs, endedMs } = await during(begin, end, async () => {
        const live = await Promise.all(installation.gateways.map(({ ops }) => ops.send({ path: '/health/live' })));
        expect(live.map(({ status }) => status)).toEqual([200, 200]);
        await askMeanwhile();
      });
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

  it.each(outages)(
    'is reported to operators as an outage: %s',
    async (_what, begin, end) => {
      await during(begin, end, administerMeanwhile);
    },
    storyTimeoutMs,
  );

  it(
    'loses nothing that was acknowledged, writes nothing twice, and the counters agree',
    async () => {
      const { admin, folder, verifierKey, checkpointFolders } = installation;
      const channel = `${networkId}.main`;
      const answers = [...answersTo(allAttempts()), ...others];
      const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
      await judgeLog({ admin, channel, folder, verifierKey, answers: texts, savedFolders: checkpointFolders });
      expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true });
      await expectCountersAgree(installation, { answers, channels: [channel] });
    },
    storyTimeoutMs,
  );

  it(
    'leaves an event for every unknown outcome, with its result',
    async () => {
      const unknown = allAttempts().filter(
        ({ answer }) => answer !== undefined && codeOf(answer) === 'OUTCOME_UNKNOWN',
      );
      for (const { answer } of unknown) {
        const { eventId } = membersOf(answer!.body);
        const read = () => installation.admin.get(`/events/${String(eventId)}`);
        // The event comes later: once the ledger has settled the unit, whatever the sender did meanwhile.
        await until(async () => (await read()).status === 200, { timeoutMs: 10_000, what: `event ${String(eventId)}` });
        const event = await read();
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
