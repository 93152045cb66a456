import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@sealgate/json';
import type { LedgerHealth } from '@sealgate/ledger-port';
import { generateNoteKey } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { basicsOf, type ServedApp } from '@sealgate/service-host';
import { migrate, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { Writable } from 'node:stream';
import { listenersOf } from '../compose.ts';
import { readConfig } from '../config.ts';
import { openParts } from '../parts.ts';
import { migrations } from '../risk-migrations.ts';
import { httpCaller, type Answer, type HttpCaller } from './http-caller.ts';

/** A person with a key. */
export interface TestPerson {
  readonly id: string;
  readonly key: string;
}

export interface TestInstallation {
  readonly url: string;
  readonly sql: Database;
  readonly verifierKey: string;
  /** The log lines. */
  readonly logLines: readonly string[];
  /** Milliseconds by which the service's clock is ahead of the machine's. */
  skewMs: number;
  /** Calls the public listener. */
  readonly api: HttpCaller;
  /** Calls the admin listener; paths begin after `/admin/v1`. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The same with another token. */
  adminAs(token: string, method: string, path: string, body?: unknown): Promise<Answer>;
  newOrg(name?: string): Promise<string>;
  newPerson(orgId: string, roles: readonly string[], more?: object): Promise<TestPerson>;
  newFramework(orgId: string, requirements: readonly string[]): Promise<string>;
  ledgerHealth(): Promise<LedgerHealth>;
  stop(): Promise<void>;
}

/** The whole surface in this process, on a real PostgreSQL, with an integrator and without effective rate limits. */
export async function testInstallation(
  more: Readonly<Record<string, string>> = {},
  given?: ThrowawayPostgres,
): Promise<TestInstallation> {
  const prepare = (url: string) => migrate({ url, sets: migrations });
  if (given !== undefined) await prepare(given.url);
  const postgres = given ?? (await preparedPostgres('risk', prepare));
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-risk-'));
  const adminToken = randomBytes(32).toString('base64url');
  const note = generateNoteKey('ledger.test');
  const config = readConfig({
    DATABASE_URL: postgres.url,
    SERVER_SECRETS: `t1:${randomBytes(32).toString('hex')}`,
    ADMIN_TOKEN_HASHES: sha256(adminToken).toString('hex'),
    LEDGER_ORIGIN: 'ledger.test',
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: note.privateKey,
    CHECKPOINT_DIR: folder,
    RATE_PER_SECOND: '1000000',
    RATE_BURST: '1000000',
    ADMIN_RATE_PER_SECOND: '1000000',
    ADMIN_RATE_BURST: '1000000',
    LOG_LEVEL: 'debug',
    ...more,
  });
  const clock = { skewMs: 0 };
  const now = () => Date.now() + clock.skewMs;
  const logLines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logLines.push(...chunk.toString('utf8').split('\n').filter(Boolean));
      done();
    },
  });
  const log = createLog({ service: 'risk-partner', level: config.logLevel, stream, now });
  const metrics = new Metrics('risk-partner', { unknownLabels: 'throw' });
  const basics = basicsOf({ config, now, log, metrics });
  const releases: (() => void | Promise<void>)[] = [];
  const release = async () => {
    for (const each of releases.reverse()) await each();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const own = (_name: string, each: () => void | Promise<void>) => void releases.push(each);
  const parts = await openParts(basics, own).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const { publicApp, adminApp } = listenersOf(basics, parts);
  const publicServer = await serve(publicApp);
  const adminServer = await serve(adminApp!);
  const api = httpCaller(urlOf(publicServer));
  const adminApi = httpCaller(urlOf(adminServer));
  const adminAs: TestInstallation['adminAs'] = (key, method, path, body) =>
    adminApi.send(method, `/admin/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const admin: TestInstallation['admin'] = (...asked) => adminAs(adminToken, ...asked);
  return {
    url: urlOf(publicServer),
    sql: parts.sql,
    verifierKey: note.verifierKey,
    logLines,
    get skewMs() {
      return clock.skewMs;
    },
    set skewMs(ms: number) {
      clock.skewMs = ms;
    },
    api,
    admin,
    adminAs,
    ...makers(admin),
    ledgerHealth: () => parts.ledger.health(),
    async stop() {
      for (const server of [publicServer, adminServer]) {
        server.closeAllConnections();
        server.close();
      }
      for (const caller of [api, adminApi]) caller.close();
      await release();
    },
  };
}

function makers(admin: TestInstallation['admin']): Pick<TestInstallation, 'newOrg' | 'newPerson' | 'newFramework'> {
  const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await admin('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.json as Record<string, string>;
  };
  return {
    newOrg: async (name = 'Acme') => (await made('/orgs', { name }))['id']!,
    async newPerson(orgId, roles, more = {}) {
      const kind = roles.includes('partner_read') ? 'machine' : 'human';
      const { id } = await made(`/orgs/${orgId}/people`, { name: `The ${roles.join(' and ')}`, kind, roles, ...more });
      const { rawKey } = await made(`/orgs/${orgId}/people/${id}/keys`, { label: 'test' });
      return { id: id!, key: rawKey! };
    },
    async newFramework(orgId, requirements) {
      const body = {
        name: `Framework ${randomBytes(3).toString('hex')}`,
        version: '1',
        requirements: requirements.map((id) => ({ id, title: `Requirement ${id}` })),
      };
      return (await made(`/orgs/${orgId}/frameworks`, body))['id']!;
    },
  };
}

async function serve(app: ServedApp): Promise<Server> {
  const server = createServer({ ...app.serverOptions });
  app.attachTo(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

// A server that listens on TCP has an address that is an object.
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
