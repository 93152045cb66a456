import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminClient, type AdminClient } from './admin-client.ts';
import { migrate, programOf, type Database } from './bundle.ts';
import { prepareGateway, type Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { ledgerOrigin } from './installation.ts';
import { newNoteKey } from './note-key.ts';

const SURFACE = 'case-gate';

/** Processes of the case gate on a fresh database, with a venue `hall`, a policy `p1`, and a key with all scopes. */
export interface GateSetup {
  readonly gates: readonly Gateway[];
  /** The first of them. */
  readonly gate: Gateway;
  readonly admins: readonly AdminClient[];
  readonly adminToken: string;
  readonly key: string;
  readonly verifierKey: string;
  /** For files of the story; removed with the setup. */
  readonly folder: string;
  /** Another process on the same database, of another build, not yet started. It is stopped with the others. */
  another(program: string): Promise<Gateway>;
  stop(): Promise<void>;
}

const outOfReach = {
  RATE_PER_SECOND: '1000000',
  RATE_BURST: '1000000',
  GATE_RATE_PER_SECOND: '1000000',
  GATE_RATE_BURST: '1000000',
};

const scopes = [
  ...['case:write', 'case:decide', 'case:override', 'case:seal', 'case:read', 'case:export'],
  ...['eligibility:read', 'gate:check'],
];

/** Migrates the database and starts gates on it, as an operator would. */
export async function gateSetup({
  postgres,
  gates: count = 1,
  redisUrl,
  env = {},
}: {
  readonly postgres: Database;
  /** Processes on one database; default 1. */
  readonly gates?: number;
  readonly redisUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
}): Promise<GateSetup> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-gate-'));
  const adminToken = randomBytes(24).toString('base64url');
  const noteKey = newNoteKey(ledgerOrigin);
  await migrate(postgres, SURFACE);
  const common = {
    DATABASE_URL: postgres.url,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    REPLICAS: String(count),
    SERVER_SECRETS: `e1:${randomBytes(32).toString('hex')}`,
    ADMIN_TOKEN_HASHES: hash('sha256', adminToken, 'hex'),
    DOCUMENT_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    LEDGER_ORIGIN: ledgerOrigin,
    LEDGER_INTEGRATOR: 'true',
    LEDGER_SIGNING_KEY: noteKey.signingKey,
    ...outOfReach,
    ...env,
  };
  const prepare = (number: number, program = programOf(SURFACE, 'main')) =>
    prepareGateway({
      program,
      env: { ...common, CHECKPOINT_DIR: join(folder, `checkpoints-${number}`) },
      logFile: join(folder, `gate-${number}.log`),
    });
  const gates = await Promise.all(Array.from({ length: count }, (_, index) => prepare(index + 1)));
  const [gate] = gates;
  if (gate === undefined) throw new Error('A setup has at least one gate.');
  for (const one of gates) await one.start();
  const admins = gates.map((one) => adminClient(one.admin, adminToken));
  const admin = admins[0]!;
  await admin.ask('POST', '/venues', { venue_id: 'hall', name: 'Hall' });
  await admin.ask('POST', '/policies', { policy_version: 'p1', status: 'active' });
  const { rawKey } = await admin.ask('POST', '/keys', { label: 'e2e', environment: 'live', scopes });
  return {
    gates,
    gate,
    admins,
    adminToken,
    key: String(rawKey),
    verifierKey: noteKey.verifierKey,
    folder,
    async another(program) {
      const next = await prepare(gates.length + 1, program);
      gates.push(next);
      return next;
    },
    async stop() {
      const codes = await Promise.all(gates.map((one) => (one.isRunning ? one.stop() : Promise.resolve(0))));
      for (const one of gates) one.release();
      const said = codes.some((code) => code !== 0) ? gates.map((one) => one.logText().slice(-2_000)).join('\n') : '';
      rmSync(folder, { recursive: true, force: true });
      if (said !== '') throw new Error(`Gates ended with ${codes.join(', ')} when they were stopped:\n${said}`);
    },
  };
}

interface GateAsking {
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly timeoutMs?: number;
}

export type GateMembers = Readonly<Record<string, unknown>>;

/** Sends a check to one gate; rejects where no answer comes. */
export function askGate(
  { gate, key }: { readonly gate: Gateway; readonly key: string },
  [method, path]: readonly [string, string],
  { body, idempotencyKey, timeoutMs = 15_000 }: GateAsking = {},
): Promise<HttpAnswer & { readonly body: GateMembers }> {
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  // An answer that is not JSON has no members, so every expectation of one fails.
  return gate.public.send({ method, path, headers, ...sent, timeoutMs }) as Promise<HttpAnswer & { body: GateMembers }>;
}

type Asked = Pick<GateSetup, 'gate' | 'key'>;

/** Opens, approves and seals a case of a new subject at the venue `hall`. */
export async function approvedSubject(at: Asked): Promise<{ readonly subjectRef: string; readonly caseId: string }> {
  const subjectRef = `subj_${randomBytes(8).toString('hex')}`;
  const post = async (path: string, idempotencyKey: string, body?: object): Promise<GateMembers> => {
    const asking = { idempotencyKey, ...(body === undefined ? {} : { body }) };
    const answer = await askGate(at, ['POST', `/v1/cases${path}`], asking);
    if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const { case_id: caseId } = await post('', subjectRef, { subject_ref: subjectRef, venue_ids: ['hall'] });
  await post(`/${String(caseId)}/decide`, 'decide', { policy_version: 'p1', decision: 'approve' });
  await post(`/${String(caseId)}/seal`, `${String(caseId)}:p1`);
  return { subjectRef, caseId: String(caseId) };
}

/** What a door at `hall` hears of a subject: `200 allow ELIGIBLE`. */
export async function doorAnswer(at: Asked, subjectRef: string): Promise<string> {
  const body = { subject_ref: subjectRef, venue_id: 'hall' };
  const answer = await askGate(at, ['POST', '/v1/gate/check'], { body });
  return `${answer.status} ${String(answer.body['decision'])} ${String(answer.body['reason_codes'])}`;
}
