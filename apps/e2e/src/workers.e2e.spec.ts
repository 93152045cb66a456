import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem, throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import { gatewayProgram } from './harness/bundle.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { expectCountersAgree, readCounters } from './harness/counters.ts';
import type { Gateway } from './harness/gateway-process.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { install, type Installation } from './harness/installation.ts';
import { acceptedTexts, answersTo, batchOrders, checkReplays, startLoad } from './harness/load.ts';
import { sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const storyTimeoutMs = 120_000;

/** A value of the metrics of a process, summed over all labels. */
async function metric(gateway: Gateway, name: string): Promise<number> {
  const { text } = await gateway.ops.send({ path: '/metrics' });
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
}

const readinessOf = async (gateway: Gateway): Promise<{ status: number; body: unknown }> => {
  const { status, body } = await gateway.ops.send({ path: '/health/ready' });
  return { status, body };
};

describeWithRedis('A gateway of two workers', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await contractSetup({ env: { WORKERS: '2', DRAIN_DELAY_MS: '500' } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const load = async (networkId: string, rawKey: string, orders: number, prefix: string) => {
    const next = batchOrders(5, prefix);
    const running = startLoad({
      targets: [sender(setup.gateway.public, networkId, rawKey)],
      senders: 16,
      nextOrder: (number) => (number < orders ? next(number) : undefined),
      replayPercent: 30,
    });
    return running;
  };

  it('serves from both, and its counters agree with the senders and the ledger', async () => {
    const { gateway } = setup;
    expect(gateway.workerPids()).toHaveLength(2);
    expect(await readinessOf(gateway)).toMatchObject({
      status: 200,
      body: { status: 'ready', limits: 'shared', workers: { running: 2, wanted: 2 } },
    });
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const running = await load(networkId, rawKey, 200, 'counted');
    await until(() => running.attempts.length >= 200, { timeoutMs: 60_000 });
    await running.finish();
    const channels = [`${networkId}.main`];
    await expectCountersAgree(setup, { answers: answersTo(running.attempts), channels });
    expect(await metric(gateway, 'workers_running')).toBe(2);
    // A second scrape counts nothing twice.
    await expectCountersAgree(setup, { answers: answersTo(running.attempts), channels });
    const started = gateway
      .logText()
      .match(/"event":"service_started".*"worker":\d|"worker":\d.*"event":"service_started"/g);
    expect(started).toHaveLength(2);
  });

  it(
    'loses no record and writes none twice while workers are killed, one after the other',
    async () => {
      const { gateway, admin, folder, verifierKey, checkpointFolders } = setup;
      const networkId = await setup.newNetwork();
      const { rawKey } = await setup.newKey(networkId);
      const before = await readCounters([gateway]);
      const running = await load(networkId, rawKey, Infinity, 'killed');
      for (let kills = 1; kills <= 4; kills += 1) {
        const seen = running.attempts.length;
        await until(() => running.attempts.length > seen + 50, { timeoutMs: 30_000 });
        const restarts = await metric(gateway, 'worker_restarts_total');
        const [victim, other] = gateway.workerPids();
        process.kill(kills % 2 === 0 ? victim! : other!, 'SIGKILL');
        await until(async () => (await metric(gateway, 'worker_restarts_total')) > restarts, { timeoutMs: 10_000 });
        await until(async () => (await metric(gateway, 'workers_running')) === 2, { timeoutMs: 20_000 });
      }
      await running.finish();
      checkReplays(running.attempts);
      const answers = acceptedTexts(running.attempts);
      const channel = `${networkId}.main`;
      const size = await judgeLog({ admin, channel, folder, verifierKey, answers, savedFolders: checkpointFolders });
      expect(await ledgerSize(admin, channel)).toBe(size);
      expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true, size });
      expect(await readinessOf(gateway)).toMatchObject({ status: 200, body: { workers: { running: 2, wanted: 2 } } });
      // Counts of a killed worker up to the last scrape are kept, the rest is lost, and nothing is doubled.
      const after = await readCounters([gateway]);
      expect(after.accepted).toBeGreaterThan(before.accepted);
      expect(after.accepted - before.accepted).toBeLessThanOrEqual(answers.length);
    },
    storyTimeoutMs,
  );

  it.each([
    ['by Redis alone', { ratePerSecond: 200, burst: 100 }],
    ['with leases', { ratePerSecond: 200, burst: 300 }],
  ])('admits no more than the burst and the rate allow, %s', async (_how, limits) => {
    const networkId = await setup.newNetwork({ limits });
    const { rawKey } = await setup.newKey(networkId);
    const from = sender(setup.gateway.public, networkId, rawKey);
    const startedMs = performance.now();
    let admitted = 0;
    let isLimited = false;
    // For a second, and on a slow machine until the whole burst was sent.
    const isOver = (): boolean => performance.now() - startedMs >= 1_000 && (isLimited || admitted >= limits.burst);
    const work = async (): Promise<void> => {
      while (!isOver()) {
        const answer = await from.post({});
        if (answer.status === 200) admitted += 1;
        else expectProblem(answer, 'RATE_LIMITED');
        isLimited ||= answer.status !== 200;
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    const seconds = (performance.now() - startedMs) / 1000;
    expect(admitted).toBeLessThanOrEqual(limits.burst + limits.ratePerSecond * seconds);
    expect(admitted).toBeGreaterThanOrEqual(limits.burst);
  });

  it('answers what both workers have accepted when told to stop, updates its probes at once, and exits with 0', async () => {
    const { gateway } = setup;
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const from = sender(gateway.public, networkId, rawKey);
    const answers: Promise<HttpAnswer | undefined>[] = [];
    for (let n = 0; n < 100; n += 1) answers.push(from.post({ n }).catch(() => undefined));
    await Promise.race(answers);
    const stopping = gateway.stop();
    await until(async () => (await readinessOf(gateway)).status === 503, { timeoutMs: 400, what: 'not ready' });
    expect((await gateway.ops.send({ path: '/health/live' })).status).toBe(200);
    expect(await stopping).toBe(0);
    const given = (await Promise.all(answers)).filter((answer) => answer !== undefined);
    expect(given.every(({ status }) => status === 200)).toBe(true);
    expect(given).toHaveLength(100);
    const log = gateway.logText();
    expect(log.match(/"event":"service_stopped"/g)).toHaveLength(3);
    for (const line of log.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
    await gateway.start();
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(100);
  });
});

describe('A gateway of two workers without Redis', () => {
  let installation: Installation;
  let postgres: ThrowawayPostgres;
  beforeAll(async () => {
    postgres = await throwawayPostgres();
    installation = await install({ postgres, env: { WORKERS: '2', REPLICAS: '2' } });
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await postgres.stop();
  });

  it('gives each worker its share of a limit: of four processes in total, two run here', async () => {
    const networkId = await installation.newNetwork({ limits: { ratePerSecond: 100, burst: 400 } });
    const { rawKey } = await installation.newKey(networkId);
    const from = sender(installation.gateway.public, networkId, rawKey);
    const startedMs = performance.now();
    let admitted = 0;
    const work = async (): Promise<void> => {
      while (performance.now() - startedMs < 1_500) if ((await from.post({})).status === 200) admitted += 1;
    };
    await Promise.all(Array.from({ length: 8 }, work));
    const seconds = (performance.now() - startedMs) / 1000;
    expect(admitted).toBeLessThanOrEqual((400 + 100 * seconds) / 2);
  });
});

interface Ending {
  readonly code: number | null;
  readonly said: string;
}

function runToItsEnd(env: Readonly<Record<string, string>>, parameters: readonly string[] = []): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [gatewayProgram('main'), ...parameters], { env, timeout: 20_000 });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
}

describe('Two workers that cannot start', () => {
  const sound = {
    WORKERS: '2',
    DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/none',
    SERVER_SECRETS: `s1:${'s'.repeat(32)}`,
    LEDGER_ORIGIN: 'ledger.test/start',
    PORT: '0',
    OPS_PORT: '0',
  };

  it('report every fault of the settings once, and exit with 1', async () => {
    const { code, said } = await runToItsEnd({ ...sound, PORT: 'eighty', WORKERS: '65' });
    expect(code).toBe(1);
    expect(said.match(/PORT: must be/g)).toHaveLength(1);
    expect(said).toContain('- WORKERS: must be a whole number from 1 to 64');
    const { said: many } = await runToItsEnd({ ...sound, WORKERS: '4', REPLICAS: '251' });
    expect(many).toContain('- REPLICAS, WORKERS: are more than 1000 processes');
  });

  it('report once that the port is taken, and exit with 1 without retrying', async () => {
    const setup = await contractSetup();
    try {
      const { port } = new URL(setup.gateway.public.origin);
      const { code, said } = await runToItsEnd({ ...sound, PORT: port });
      expect(code).toBe(1);
      expect(said.match(/is in use by another process: stop it, or set PORT to a free port/g)).toHaveLength(1);
      expect(said).toContain('Worker 1 ended with 1 before it had started.');
    } finally {
      await setup.stop();
    }
  });

  it('check the settings in one process, and start none', async () => {
    const { code, said } = await runToItsEnd(sound, ['--check-config']);
    expect({ code, said }).toEqual({ code: 0, said: 'ingest-gateway: the configuration is valid\n' });
  });
});
