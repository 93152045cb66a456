import { hash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ServerSecrets } from '@sealgate/auth';
import { generateDocumentKey } from '@sealgate/envelope';
import { embeddedLedger } from '@sealgate/ledger-embedded';
import type { LedgerAppender } from '@sealgate/ledger-port';
import { generateNoteKey } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { basicsOf, type Composition, type ServedApp } from '@sealgate/service-host';
import { migrate, openDatabase, startTimer, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { compose } from '../src/compose.ts';
import { readConfig } from '../src/config.ts';
import { caseTransactions, type InCaseTransaction } from '../src/data/case-transaction.ts';
import { ledgerVersions, seenVersions } from '../src/data/ledger-versions.ts';
import { ledgerWriter } from '../src/data/ledger-writer.ts';
import { signedRows } from '../src/data/signed-rows.ts';
import { SCOPES } from '../src/domain/key.ts';
import { POLICIES } from '../src/domain/policy.ts';
import { migrations } from '../src/gate-migrations.ts';
import { gateMetrics } from '../src/gate-metrics.ts';
import type { Basics } from '../src/parts.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // Tests read members that they expect; a wrong guess fails them.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

interface Ask {
  readonly body?: unknown;
  readonly raw?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Replaces basics of a process, to test the effect of a bug there. */
type ChangeBasics = (basics: Basics) => Basics;

/** One process of the surface, run in this process on a real PostgreSQL. */
export interface RunningGate {
  readonly url: string;
  readonly adminUrl: string;
  readonly composition: Composition;
  metricsText(): Promise<string>;
  readonly logLines: string[];
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  admin(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The same with a body that may not be JSON. */
  adminRaw(method: string, path: string, raw: string): Promise<Answer>;
  /** Advances the clock of this process. */
  advance(ms: number): void;
  stop(): Promise<void>;
}

export interface GateSite extends RunningGate {
  readonly database: ThrowawayPostgres;
  /** As the owner of the tables. */
  readonly sql: Database;
  readonly verifierKey: string;
  /** Another replica on the same database with the same secrets. */
  replica(env?: Readonly<Record<string, string>>, change?: ChangeBasics): Promise<RunningGate>;
  /** A key with these scopes; all by default. */
  newKey(scopes?: readonly string[], environment?: string): Promise<string>;
}

/** For `beforeAll`, which starts and migrates a real database. */
export const SETUP_MS = 60_000;

const adminToken = 'test-admin-token';

/** A migrated database, the surface on it, a venue `hall`, a policy `p1` without rules, and a key with all scopes. */
export async function gateSite(
  env: Readonly<Record<string, string>> = {},
  server?: ThrowawayPostgres,
): Promise<GateSite & { readonly key: string }> {
  const prepare = (url: string) => migrate({ url, sets: migrations });
  if (server !== undefined) await prepare(server.url);
  const database = server ?? (await preparedPostgres('gate', prepare));
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-gate-'));
  const noteKey = generateNoteKey('ledger.test');
  const common = {
    DATABASE_URL: database.url,
    SERVER_SECRETS: `s1:${randomBytes(32).toString('hex')}`,
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    DOCUMENT_SIGNING_KEY: generateDocumentKey(),
    LEDGER_ORIGIN: 'ledger.test',
    LEDGER_SIGNING_KEY: noteKey.privateKey,
    RATE_PER_SECOND: '100000',
    RATE_BURST: '100000',
    GATE_RATE_PER_SECOND: '100000',
    GATE_RATE_BURST: '100000',
    // So that a loaded machine does not fail unrelated tests.
    GATE_DEADLINE_MS: '2000',
    ...env,
  };
  const first = await runGate({ ...common, LEDGER_INTEGRATOR: 'true', CHECKPOINT_DIR: join(folder, 'checkpoints') });
  const sql = openDatabase({
    url: database.url,
    applicationName: 'test',
    maxConnections: 2,
    connectTimeoutMs: 2000,
    deadlineMs: 10_000,
  });
  const replicas: RunningGate[] = [];
  const newKey = async (scopes: readonly string[] = SCOPES, environment = 'live'): Promise<string> => {
    const minted = await first.admin('POST', '/keys', { label: 'test', environment, scopes });
    if (minted.status !== 201) throw new Error(minted.text);
    return minted.body.rawKey;
  };
  await first.admin('POST', '/venues', { venue_id: 'hall', name: 'Hall' });
  await first.admin('POST', '/policies', { policy_version: 'p1', status: 'active' });
  return {
    ...first,
    key: await newKey(),
    database,
    sql,
    verifierKey: noteKey.verifierKey,
    newKey,
    async replica(more = {}, change = (basics) => basics) {
      const made = await runGate({ ...common, ...more }, change);
      replicas.push(made);
      return made;
    },
    async stop() {
      for (const one of [...replicas, first]) await one.stop();
      await sql.close();
      if (server === undefined) await database.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function runGate(
  env: Readonly<Record<string, string>>,
  change: ChangeBasics = (basics) => basics,
): Promise<RunningGate> {
  let offsetMs = 0;
  const now = () => performance.timeOrigin + performance.now() + offsetMs;
  const logLines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logLines.push(...chunk.toString('utf8').split('\n').filter(Boolean));
      done();
    },
  });
  const log = createLog({ service: 'case-gate', level: 'info', stream, now });
  const metrics = new Metrics('case-gate', { unknownLabels: 'throw', processMetrics: false });
  const releases: (() => void | Promise<void>)[] = [];
  const basics = { ...basicsOf({ config: readConfig(env), now, log, metrics }), counters: gateMetrics(metrics) };
  const own = (_: string, release: () => void | Promise<void>) => void releases.unshift(release);
  const composition = await compose(change(basics), own).catch(async (error: unknown) => {
    for (const release of releases) await release();
    throw error;
  });
  const [open, admin] = [await listen(composition.publicApp), await listen(composition.adminApp!)];
  let isStopped = false;
  return {
    url: open.url,
    adminUrl: admin.url,
    composition,
    logLines,
    metricsText: () => metrics.text(),
    ask: (method, path, { body, raw, key, headers = {} } = {}) =>
      send(`${open.url}${path}`, {
        method,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined && raw === undefined ? {} : { body: raw ?? JSON.stringify(body) }),
      }),
    admin: (method, path, body, headers = {}) =>
      send(`${admin.url}/admin/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${adminToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    adminRaw: (method, path, raw) =>
      send(`${admin.url}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: raw,
      }),
    advance: (ms) => {
      offsetMs += ms;
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      for (const { server } of [open, admin]) {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      }
      for (const release of releases) await release();
    },
  };
}

async function listen(app: ServedApp): Promise<{ server: Server; url: string }> {
  const server = createServer(app.serverOptions);
  app.attachTo(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function send(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

let made = 0;

/** A case of a new subject. */
export async function newCase(
  gate: RunningGate,
  key: string,
  more: object = {},
): Promise<{ caseId: string; subjectRef: string }> {
  made += 1;
  const subjectRef = `subj_s${made}_${randomBytes(4).toString('hex')}`;
  const body = { subject_ref: subjectRef, venue_ids: ['hall'], ...more };
  const answer = await gate.ask('POST', '/v1/cases', {
    key,
    body,
    headers: { 'idempotency-key': randomBytes(8).toString('hex') },
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return { caseId: answer.body.case_id, subjectRef: answer.body.subject_ref };
}

/** A decided and sealed case. */
export async function sealedCase(
  gate: RunningGate,
  key: string,
  { decide = {}, create = {} }: { decide?: object; create?: object } = {},
): Promise<{ caseId: string; subjectRef: string; seal: Answer }> {
  const one = await newCase(gate, key, create);
  const order = { policy_version: 'p1', decision: 'approve', ...decide };
  const decided = await gate.ask('POST', `/v1/cases/${one.caseId}/decide`, { key, body: order });
  if (decided.status !== 201) throw new Error(decided.text);
  const seal = await sealNow(gate, key, { caseId: one.caseId, version: order.policy_version });
  if (seal.status !== 201) throw new Error(seal.text);
  return { ...one, seal };
}

export function sealNow(gate: RunningGate, key: string, of: { caseId: string; version: string }): Promise<Answer> {
  const headers = { 'idempotency-key': `${of.caseId}:${of.version}` };
  return gate.ask('POST', `/v1/cases/${of.caseId}/seal`, { key, headers });
}

/** Checks entry and returns the answer in short. */
export async function check(gate: RunningGate, key: string, subjectRef: string, more: object = {}): Promise<string> {
  const body = { subject_ref: subjectRef, venue_id: 'hall', ...more };
  const answer = await gate.ask('POST', '/v1/gate/check', { key, body });
  return `${answer.body.decision} ${answer.body.reason_codes}`;
}

/** Case transactions as in a process with these secrets, for tests that break a part of it. */
export function caseTransactionsOf(
  sql: Database,
  secrets: ServerSecrets,
  ledger: Pick<LedgerAppender, 'append'> = embeddedLedger({ sql, origin: 'ledger.test', now: Date.now }),
): InCaseTransaction {
  const target = { network: 'gate', channel: 'gate.seals' };
  const recordIds = secrets.derive('gate ledger records');
  const macs = {
    eligibility: secrets.derive('gate eligibility records'),
    cases: secrets.derive('gate cases'),
  };
  const log = createLog({ service: 'case-gate', level: 'error', stream: process.stderr, now: Date.now });
  const writer = { sql, ledger, target, recordIds, seen: seenVersions(10), onConflict: () => undefined, log };
  const { inTransaction } = ledgerWriter({ ...writer, startTimer });
  const audit = { record: () => Promise.resolve() };
  const versions = ledgerVersions({ target, recordIds });
  const policies = signedRows(POLICIES, { sql, look: sql, macs: secrets.derive('gate policies'), versions });
  return caseTransactions(inTransaction, { macs, policies, versions, audit });
}
