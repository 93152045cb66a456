import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import { expectWritten } from './harness/answers.ts';
import { gatewayProgram, migratedPostgres } from './harness/bundle.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { newNoteKey } from './harness/note-key.ts';
import { quietPort } from './harness/gateway-process.ts';
import { sender } from './harness/sender.ts';

interface Ending {
  readonly code: number | null;
  readonly said: string;
}

/** Starts a gateway that is expected to exit, and returns its last output. */
function runToItsEnd(env: Readonly<Record<string, string>>): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [gatewayProgram('main')], { env, stdio: 'pipe', timeout: 20_000 });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, said }));
  });
}

describe('A gateway that cannot start', () => {
  let postgres: ThrowawayPostgres;
  let sound: Readonly<Record<string, string>>;
  beforeAll(async () => {
    postgres = await migratedPostgres('ingest-gateway');
    sound = {
      DATABASE_URL: postgres.url,
      SERVER_SECRETS: `s1:${'s'.repeat(32)}`,
      LEDGER_ORIGIN: 'ledger.test/start',
      PORT: String(await quietPort()),
      OPS_PORT: String(await quietPort()),
    };
  }, setupTimeoutMs);
  afterAll(() => postgres.stop());

  it('reports every fault of its variables at once, and no secret', async () => {
    const { code, said } = await runToItsEnd({
      PORT: 'eighty',
      SERVER_SECRETS: 's1:too-short-secret',
      LEDGER_INTEGRATOR: 'yes',
      LOG_LEVEL: 'loud',
      RATE_BURST: '5',
      ADMIN_TOKEN_HASHES: 'not-a-hash',
      SEALGATE_UNHEARD: '1',
    });
    expect(code).toBe(1);
    const faults = [
      'PORT',
      'SERVER_SECRETS',
      'LEDGER_INTEGRATOR',
      'LOG_LEVEL',
      'ADMIN_TOKEN_HASHES',
      'DATABASE_URL',
      'LEDGER_ORIGIN',
    ];
    for (const name of [...faults, 'SEALGATE_UNHEARD']) expect(said).toContain(name);
    expect(said).not.toMatch(/too-short-secret|not-a-hash|\n {4}at /);
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['listens off loopback without TLS', { HOST: '0.0.0.0' }, /TLS_CERT_FILE/],
    ['has half a certificate', { TLS_CERT_FILE: '/nowhere.crt' }, /TLS_KEY_FILE/],
    ['has a missing certificate file', { TLS_CERT_FILE: '/nowhere.crt', TLS_KEY_FILE: '/nowhere.key' }, /nowhere\.crt/],
    ['integrates without a key', { LEDGER_INTEGRATOR: 'true' }, /LEDGER_SIGNING_KEY/],
    [
      'integrates with a key of another ledger',
      {
        LEDGER_INTEGRATOR: 'true',
        LEDGER_SIGNING_KEY: newNoteKey('other').signingKey,
        CHECKPOINT_DIR: '/tmp/never-made',
      },
      /LEDGER_ORIGIN/,
    ],
    ['can never admit a full batch', { RATE_BURST: '99' }, /RATE_BURST/],
  ])('says why when it %s', async (_when, env, reason) => {
    const { code, said } = await runToItsEnd({ ...sound, ...env });
    expect(code).toBe(1);
    expect(said).toMatch(reason);
    expect(said).not.toMatch(/\n {4}at /);
  });

  it(
    'says which port is taken',
    async () => {
      const setup = await contractSetup();
      try {
        const { port } = new URL(setup.gateway.public.origin);
        const { code, said } = await runToItsEnd({ ...sound, PORT: port });
        expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining(port) });
        expect(said).toContain('PORT');
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );
});

describe('A gateway that is told to stop', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await contractSetup({ env: { DRAIN_DELAY_MS: '2000' } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('answers the requests it has accepted, updates its probes at once, and exits with code 0', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const from = sender(setup.gateway.public, networkId, rawKey);
    const answers: Promise<HttpAnswer | undefined>[] = [];
    let isOver = false;
    // Requests during the close may be refused a connection; the ledger shows what was accepted.
    let answered = 0;
    const post = (n: number): Promise<HttpAnswer | undefined> =>
      from.post({ n }).then(
        (answer) => ((answered += 1), answer),
        () => undefined,
      );
    const sending = (async () => {
      for (let n = 0; !isOver && n < 10_000; n += 1) {
        answers.push(post(n));
        await delay(2);
      }
    })();
    await until(() => answered > 50, { timeoutMs: 20_000 });
    const stopping = setup.gateway.stop();
    await until(async () => (await setup.gateway.ops.send({ path: '/health/ready' })).status === 503, {
      timeoutMs: 1_800,
      what: 'not ready while it drains',
    });
    expect((await setup.gateway.ops.send({ path: '/health/live' })).status).toBe(200);
    expect(await stopping).toBe(0);
    isOver = true;
    await sending;
    const given = (await Promise.all(answers)).filter((answer) => answer !== undefined);
    for (const answer of given) expectWritten(answer);
    expect(given.length).toBeGreaterThan(50);
    await setup.gateway.start();
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(given.length);
  });
});
