import { randomBytes } from 'node:crypto';
import { generateDocumentKey } from '@sealgate/envelope';
import type { BenchContext } from '../bench-context.ts';
import { askAdmin } from './gateway-admin.ts';
import type { Gateway } from './gateway-process.ts';
import { prepareSite, type GatewaySite, type SiteOptions } from './gateway-site.ts';

const outOfReach = '1000000';

/** The case gate as installed: limits on but unreachably high, its log of decisions on. */
export function prepareGateSite(
  context: BenchContext,
  options: Pick<SiteOptions, 'name' | 'redisUrl' | 'checkout' | 'stack'>,
): Promise<GatewaySite> {
  const env = {
    DOCUMENT_SIGNING_KEY: generateDocumentKey(),
    RATE_PER_SECOND: outOfReach,
    RATE_BURST: outOfReach,
    GATE_RATE_PER_SECOND: outOfReach,
    GATE_RATE_BURST: outOfReach,
  };
  return prepareSite(context, { ...options, surface: 'case-gate', env });
}

/** A venue's checks of subjects that may enter. */
export interface GateDoor {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One for each subject. */
  readonly bodies: readonly string[];
}

const scopes = ['case:write', 'case:decide', 'case:override', 'case:seal', 'gate:check'];
const policyVersion = 'bench-1';
const venueId = 'hall';
const atOnce = 8;

/** A key, a venue, and subjects that were created, decided and sealed over the API. */
export async function makeDoor(of: { site: GatewaySite; gateway: Gateway }, subjects: number): Promise<GateDoor> {
  const post = (path: string, body: unknown): Promise<string> =>
    askAdmin(of, { method: 'POST', path, body, expect: 201 });
  await post('/venues', { venue_id: venueId, name: 'Hall' });
  await post('/policies', { policy_version: policyVersion, status: 'active' });
  const { rawKey }: { rawKey: string } = JSON.parse(
    await post('/keys', { label: 'bench', environment: 'live', scopes }),
  );
  const refs = Array.from({ length: subjects }, () => `subj_${randomBytes(12).toString('hex')}`);
  for (let first = 0; first < subjects; first += atOnce)
    await Promise.all(refs.slice(first, first + atOnce).map((ref) => seal(of.gateway, rawKey, ref)));
  return {
    path: '/v1/gate/check',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${rawKey}` },
    bodies: refs.map((ref) => JSON.stringify({ subject_ref: ref, venue_id: venueId })),
  };
}

async function seal({ port }: Gateway, rawKey: string, subjectRef: string): Promise<void> {
  const post = async (path: string, idempotencyKey: string, body?: unknown): Promise<{ case_id: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/cases${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${rawKey}`,
        'idempotency-key': idempotencyKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    if (response.status !== 201) throw new Error(`POST /v1/cases${path} answered ${await response.text()}`);
    return (await response.json()) as { case_id: string };
  };
  const { case_id: caseId } = await post('', subjectRef, { subject_ref: subjectRef, venue_ids: [venueId] });
  await post(`/${caseId}/decide`, 'decide', { policy_version: policyVersion, decision: 'approve' });
  await post(`/${caseId}/seal`, `${caseId}:${policyVersion}`);
}

/** Subjects that only give the tables a size: without the gate's MAC they cannot be checked. */
export async function fillTables({ sql }: GatewaySite, rows: number): Promise<void> {
  const subject = `'live', 'subj_' || md5(n::text)`;
  await sql.query({
    text: `INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac)
           SELECT ${subject}, 2, 'eligible', repeat('x', 500), now(), repeat('x', 46) FROM generate_series(1, $1) n`,
    values: [rows],
  });
  await sql.query({
    text: `INSERT INTO gate.eligibility_history (environment, subject_ref, record_version, event, actor, document, changed_at)
           SELECT ${subject}, v, 'approved', 'system', repeat('x', 500), now()
             FROM generate_series(1, $1) n, generate_series(1, 2) v`,
    values: [rows],
  });
  await sql.query({ text: 'VACUUM ANALYZE gate.eligibility' });
  await sql.query({ text: 'VACUUM ANALYZE gate.eligibility_history' });
}

/** The log of decisions: number of rows, highest number assigned, and number of allows. */
export interface LoggedDecisions {
  readonly allowed: number;
  readonly rows: number;
  readonly lastNumber: number;
}

export async function readDecisionLog({ sql }: GatewaySite): Promise<LoggedDecisions> {
  const text = `SELECT count(*) AS rows, count(*) FILTER (WHERE decision = 'allow' AND reason_code = 'ELIGIBLE') AS allowed,
      coalesce(max(seq), 0) AS last FROM gate.gate_decisions`;
  const [row] = await sql.query<{ rows: string; allowed: string; last: string }>({ text });
  return { rows: Number(row?.rows), allowed: Number(row?.allowed), lastNumber: Number(row?.last) };
}
