import { randomBytes } from 'node:crypto';
import { adminClient, type AdminClient } from './admin-client.ts';
import type { Database } from './bundle.ts';
import type { Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { newDocumentKey } from './new-secrets.ts';
import { surfaceSetup, type SurfaceSetup, type Variables } from './surface-setup.ts';

/** Processes of the case gate on a fresh database, with a venue `hall`, a policy `p1`, and a key with all scopes. */
export interface GateSetup extends SurfaceSetup {
  readonly gates: readonly Gateway[];
  /** The first of them. */
  readonly gate: Gateway;
  readonly admins: readonly AdminClient[];
  readonly key: string;
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
  gates: processes,
  env,
  ...options
}: {
  readonly postgres: Database;
  /** Processes on one database; default 1. */
  readonly gates?: number;
  readonly redisUrl?: string;
  readonly env?: Variables;
}): Promise<GateSetup> {
  const signingKey = newDocumentKey();
  const setup = await surfaceSetup({
    ...options,
    surface: 'case-gate',
    processes,
    env: () => ({ DOCUMENT_SIGNING_KEY: signingKey, ...outOfReach, ...env }),
  });
  const { processes: gates, admin, adminToken } = setup;
  await admin.ask('POST', '/venues', { venue_id: 'hall', name: 'Hall' });
  await admin.ask('POST', '/policies', { policy_version: 'p1', status: 'active' });
  const { rawKey } = await admin.ask('POST', '/keys', { label: 'e2e', environment: 'live', scopes });
  const admins = gates.map((one) => adminClient(one.admin, adminToken));
  return { ...setup, gates, gate: gates[0]!, admins, key: String(rawKey) };
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
