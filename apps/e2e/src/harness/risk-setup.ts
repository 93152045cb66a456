import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminClient, type AdminClient } from './admin-client.ts';
import { migrate, programOf, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { ledgerOrigin } from './installation.ts';
import { newNoteKey } from './note-key.ts';

const SURFACE = 'risk-partner';

/** Processes of surface A on a fresh database, with one organisation. */
export interface RiskSetup {
  readonly processes: readonly Gateway[];
  readonly admin: AdminClient;
  readonly orgId: string;
  readonly verifierKey: string;
  /** For files of the story; removed with the setup. */
  readonly folder: string;
  /** Adds a person with these roles; returns the id and a key. */
  newPerson(roles: readonly string[], members?: object): Promise<{ id: string; key: string }>;
  stop(): Promise<void>;
}

/** Migrates the database and starts two processes on it, as an operator would. */
export async function riskSetup(postgres: Database, env: Readonly<Record<string, string>> = {}): Promise<RiskSetup> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-risk-'));
  const adminToken = randomBytes(24).toString('base64url');
  const noteKey = newNoteKey(ledgerOrigin);
  await migrate(postgres, SURFACE);
  const common = {
    DATABASE_URL: postgres.url,
    REPLICAS: '2',
    SERVER_SECRETS: `e1:${randomBytes(32).toString('hex')}`,
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    LEDGER_ORIGIN: ledgerOrigin,
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: noteKey.signingKey,
    RATE_PER_SECOND: '1000000',
    RATE_BURST: '1000000',
    ...env,
  };
  const processes = await Promise.all(
    ['1', '2'].map((number) =>
      prepareGateway({
        program: programOf(SURFACE, 'main'),
        env: { ...common, CHECKPOINT_DIR: join(folder, `checkpoints-${number}`) },
        logFile: join(folder, `risk-${number}.log`),
      }),
    ),
  );
  for (const one of processes) await one.start();
  const admin = adminClient(processes[0]!.admin, adminToken);
  const { id } = await admin.ask('POST', '/orgs', { name: 'E2E' });
  const orgId = String(id);
  return {
    processes,
    admin,
    orgId,
    verifierKey: noteKey.verifierKey,
    folder,
    async newPerson(roles, members = {}) {
      const body = { name: `The ${roles.join(' and ')}`, kind: 'human', roles, ...members };
      const person = await admin.ask('POST', `/orgs/${orgId}/people`, body);
      const key = await admin.ask('POST', `/orgs/${orgId}/people/${String(person['id'])}/keys`, { label: 'e2e' });
      return { id: String(person['id']), key: String(key['rawKey']) };
    },
    async stop() {
      const codes = await Promise.all(processes.map((one) => (one.isRunning ? one.stop() : Promise.resolve(0))));
      for (const one of processes) one.release();
      const said = codes.some((code) => code !== 0)
        ? processes.map((one) => one.logText().slice(-2000)).join('\n')
        : '';
      rmSync(folder, { recursive: true, force: true });
      if (said !== '') throw new Error(`Processes ended with ${codes.join(', ')} when they were stopped:\n${said}`);
    },
  };
}

/** Sends a request to one process with a key. */
export function askRisk(
  { public: http }: Gateway,
  key: string,
  [method, path]: readonly [string, string],
  { body, headers = {} }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<HttpAnswer & { readonly body: Readonly<Record<string, unknown>> }> {
  const answer = http.send({
    method,
    path,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // All answers used by these stories are objects.
  return answer as Promise<HttpAnswer & { readonly body: Readonly<Record<string, unknown>> }>;
}
