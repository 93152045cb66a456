import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, expectProblem, throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { adminClient } from './harness/admin-client.ts';
import { programOf, runMigrations } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { prepareGateway, type Gateway } from './harness/gateway-process.ts';
import { ledgerOrigin } from './harness/installation.ts';
import { newNoteKey } from './harness/note-key.ts';
import { keyHash, newKey, peerEnv } from './harness/peer-setup.ts';

interface Surface {
  readonly name: string;
  /** A request that needs the database, with a key that is well formed. */
  readonly ask: { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>> };
  readonly code: string;
  readonly adminPath: string;
}

const bearer = (prefix: string) => ({ Authorization: `Bearer ${prefix}${'A'.repeat(43)}` });
const surfaces: readonly Surface[] = [
  {
    name: 'risk-partner',
    ask: { method: 'GET', path: '/api/v1/risks', headers: bearer('svc_') },
    code: 'UNAVAILABLE',
    adminPath: '/orgs',
  },
  {
    name: 'case-gate',
    ask: { method: 'GET', path: '/v1/cases/case_x', headers: bearer('gk_') },
    code: 'UNAVAILABLE',
    adminPath: '/venues',
  },
  {
    name: 'ledger-peer',
    ask: { method: 'GET', path: '/api/assets/x', headers: {} },
    code: 'LEDGER_UNAVAILABLE',
    adminPath: '/ledger/channels',
  },
  {
    name: 'ingest-gateway',
    ask: { method: 'POST', path: '/acme', headers: { 'X-Api-Key': `ingest_${'A'.repeat(43)}` } },
    code: 'UNAVAILABLE',
    adminPath: '/networks',
  },
];

const ROLE = 'not_ready_run';
const adminToken = newKey();

describe.each(surfaces)('$name on a database that it cannot work with', ({ name, ask, code, adminPath }) => {
  let server: ThrowawayPostgres;
  let postgres: string;
  let folder: string;
  let started: Gateway | undefined;
  beforeAll(async () => {
    server = await throwawayPostgres({ own: true });
    folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-not-ready-'));
    await executeSql(server.url, `CREATE ROLE ${ROLE} LOGIN PASSWORD '${ROLE}'`);
  }, setupTimeoutMs);
  afterEach(async () => {
    expect(await started?.stop()).toBe(0);
    started?.release();
    started = undefined;
  }, setupTimeoutMs);
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }, setupTimeoutMs);

  const asRole = (password = ROLE): string => Object.assign(new URL(postgres), { username: ROLE, password }).href;
  const env = (databaseUrl: string): Record<string, string> => {
    const { MAPPING_FILE: mappingFile = '', ...common } = peerEnv(folder, databaseUrl);
    return {
      ...common,
      ...(name === 'ledger-peer' ? { MAPPING_FILE: mappingFile } : {}),
      ...(name === 'case-gate' ? { DOCUMENT_SIGNING_KEY: documentKey } : {}),
      ADMIN_TOKEN_HASHES: keyHash(adminToken),
      LEDGER_INTEGRATOR: 'true',
      LEDGER_SIGNING_KEY: newNoteKey(ledgerOrigin).signingKey,
      CHECKPOINT_DIR: join(folder, randomBytes(4).toString('hex')),
    };
  };
  const migrated = (databaseUrl: string) =>
    runMigrations({ ...env(databaseUrl), MIGRATION_DATABASE_URL: postgres }, name);

  async function start(databaseUrl: string): Promise<Gateway> {
    const logFile = join(folder, `${randomBytes(4).toString('hex')}.log`);
    started = await prepareGateway({ program: programOf(name, 'main'), env: env(databaseUrl), logFile });
    void started.start().catch(() => undefined);
    await until(() => told(started!).then(({ status }) => status !== 0), {
      timeoutMs: 20_000,
      what: 'an ops listener',
    });
    return started;
  }
  const told = async (service: Gateway): Promise<{ status: number; reason: string | undefined }> => {
    const answer = await service.ops.send({ path: '/health/ready', timeoutMs: 3_000 }).catch(() => undefined);
    if (answer === undefined) return { status: 0, reason: undefined };
    const { problem, reason } = answer.body as { problem?: string; reason?: string };
    return { status: answer.status, reason: problem ?? reason };
  };
  const tells = (service: Gateway, wanted: RegExp) =>
    until(async () => wanted.test((await told(service)).reason ?? ''), { timeoutMs: 20_000, what: String(wanted) });
  const becomesReady = (service: Gateway) =>
    until(async () => (await told(service)).status === 200, { timeoutMs: 20_000, what: 'ready' });

  /** Everybody is told 503, never 500, and nothing is logged but the sentence. */
  async function refusesAll(service: Gateway, sentence: RegExp): Promise<void> {
    const headers = { ...ask.headers, 'Content-Type': 'application/json' };
    const body = ask.method === 'POST' ? { body: '{"a":1}' } : {};
    const answer = await service.public.send({ method: ask.method, path: ask.path, headers, ...body });
    expectProblem(answer, code);
    const admin = await adminClient(service.admin, adminToken).get(adminPath);
    expectProblem(admin, adminPath.startsWith('/ledger') ? 'LEDGER_UNAVAILABLE' : 'UNAVAILABLE');
    const lines = service
      .logText()
      .split('\n')
      .filter((line) => line.includes('"database_not_ready"'));
    expect(lines.at(-1)).toMatch(sentence);
    expect(service.logText()).not.toMatch(/\n\s+at |\\n +at /);
  }

  it(
    'waits for the migration job, says which set is missing, and becomes ready by itself once the job has run',
    async () => {
      postgres = await server.newDatabase();
      const service = await start(asRole());
      const { pid } = service;
      await tells(service, /not migrated for this version: ledger\/ledger is missing/);
      await refusesAll(service, /ledger\/ledger is missing/);
      await migrated(asRole());
      await becomesReady(service);
      expect(service.pid).toBe(pid);
      expect(service.logText()).toContain('"database_ready"');
    },
    setupTimeoutMs,
  );

  it(
    'says that its role has no rights, until the job gives them',
    async () => {
      postgres = await server.newDatabase();
      await migrated(postgres);
      const service = await start(asRole());
      await tells(service, /the role of DATABASE_URL has no rights in the schema ledger/);
      await refusesAll(service, /has no rights in the schema ledger/);
      await migrated(asRole());
      await becomesReady(service);
    },
    setupTimeoutMs,
  );

  it(
    'says that its password is wrong, and is ready once it is right',
    async () => {
      postgres = await server.newDatabase();
      await migrated(asRole());
      const service = await start(asRole('new password'));
      await tells(service, /the database refuses the password, or the role, of DATABASE_URL/);
      await refusesAll(service, /refuses the password/);
      await executeSql(server.url, `ALTER ROLE ${ROLE} PASSWORD 'new password'`);
      try {
        await becomesReady(service);
      } finally {
        await executeSql(server.url, `ALTER ROLE ${ROLE} PASSWORD '${ROLE}'`);
      }
    },
    setupTimeoutMs,
  );

  it(
    'loses its readiness when its rights are taken while it runs',
    async () => {
      postgres = await server.newDatabase();
      await migrated(asRole());
      const service = await start(asRole());
      await becomesReady(service);
      await executeSql(postgres, `REVOKE USAGE ON SCHEMA ledger FROM ${ROLE}`);
      await tells(service, /has no rights in the schema ledger/);
      await migrated(asRole());
      await becomesReady(service);
    },
    setupTimeoutMs,
  );
});

const documentKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
