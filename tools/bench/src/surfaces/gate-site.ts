import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { generateDocumentKey } from '@sealgate/envelope';
import type { BenchContext } from '../bench-context.ts';
import type { PlannedRequest } from '../load/load-plan.ts';
import type { RowLoad } from '../rows/row.ts';
import { askAdmin } from './admin.ts';
import { durabilityFaults } from './durable-settings.ts';
import { outOfReach, prepareSite, type Site, type SiteOptions } from './site.ts';
import type { Surface } from './surface-process.ts';

/** The case gate as installed: limits on but unreachably high, its log of decisions on. */
export function prepareGateSite(context: BenchContext, { env: more, ...options }: SiteOptions): Promise<Site> {
  const env = {
    ...outOfReach,
    DOCUMENT_SIGNING_KEY: generateDocumentKey(),
    GATE_RATE_PER_SECOND: '1000000',
    GATE_RATE_BURST: '1000000',
    ...more,
  };
  return prepareSite(context, { ...options, surface: 'case-gate', env });
}

/** The whole answer that lets a subject in. */
export const ALLOW = '"decision":"allow","allow":true';
const scopes = [
  ...['case:write', 'case:decide', 'case:override', 'case:seal', 'case:read', 'case:export'],
  ...['eligibility:read', 'gate:check'],
];
const policyVersion = 'bench-1';
const hall = 'hall';
const atOnce = 8;

/** A venue's checks, in turn about subjects that were created, decided and sealed over the API: each may enter. */
export async function checksOf(gate: Surface, subjects: number): Promise<RowLoad> {
  await askAdmin(gate, { method: 'POST', path: '/venues', body: { venue_id: hall, name: 'Hall' } });
  const rawKey = await preparePolicyAndKey(gate);
  const sealed = await sealSubjects(gate, { rawKey, subjects, venueOf: () => hall });
  return checkLoad(gate, { rawKey, sealed });
}

/** A policy, and a key with every scope. */
export async function preparePolicyAndKey(gate: Surface): Promise<string> {
  const post = (path: string, body: unknown): Promise<string> => askAdmin(gate, { method: 'POST', path, body });
  await post('/policies', { policy_version: policyVersion, status: 'active' });
  const { rawKey }: { rawKey: string } = JSON.parse(
    await post('/keys', { label: 'bench', environment: 'live', scopes }),
  );
  return rawKey;
}

/** A case that was sealed, and where its subject may enter. */
export interface SealedSubject {
  readonly caseId: string;
  readonly subjectRef: string;
  readonly venueId: string;
}

/** Creates, decides and seals a case of each subject over the API. */
export async function sealSubjects(
  gate: Surface,
  { rawKey, subjects, venueOf }: { rawKey: string; subjects: number; venueOf: (subject: number) => string },
): Promise<SealedSubject[]> {
  const sealed: SealedSubject[] = [];
  for (let first = 0; first < subjects; first += atOnce)
    sealed.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(atOnce, subjects - first) }, (_, place) =>
          seal(gate, rawKey, venueOf(first + place)),
        ),
      )),
    );
  return sealed;
}

/** The checks of these subjects in turn: each may enter. */
export function checkLoad(
  { port }: Surface,
  { rawKey, sealed }: { readonly rawKey: string; readonly sealed: readonly SealedSubject[] },
): RowLoad {
  const path = '/v1/gate/check';
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${rawKey}` };
  const requests = sealed.map(({ subjectRef, venueId }): PlannedRequest => {
    return { method: 'POST', path, body: JSON.stringify({ subject_ref: subjectRef, venue_id: venueId }) };
  });
  return { destinations: [{ port, path, headers }], requests, firstRequest: 0, mustSay: ALLOW };
}

async function seal({ port }: Surface, rawKey: string, venueId: string): Promise<SealedSubject> {
  const subjectRef = `subj_${randomBytes(12).toString('hex')}`;
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
  return { caseId, subjectRef, venueId };
}

/** Subjects that only give the tables a size: without the gate's MAC they cannot be checked. */
export async function fillTables({ sql }: Site, rows: number): Promise<void> {
  const subject = `'live', 'subj_' || md5(n::text)`;
  const document = `to_json(repeat('x', 500))::text`;
  await sql.query({
    text: `INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac)
           SELECT ${subject}, 2, 'eligible', ${document}, now(), repeat('x', 46) FROM generate_series(1, $1) n`,
    values: [rows],
  });
  await sql.query({
    text: `INSERT INTO gate.eligibility_history (environment, subject_ref, record_version, event, actor, document, changed_at)
           SELECT ${subject}, v, 'approved', 'system', ${document}, now()
             FROM generate_series(1, $1) n, generate_series(1, 2) v`,
    values: [rows],
  });
  await sql.query({ text: 'VACUUM ANALYZE gate.eligibility' });
  await sql.query({ text: 'VACUUM ANALYZE gate.eligibility_history' });
}

/** The log of decisions: number of rows, the highest numbers of all processes together, and number of allows. */
export async function readDecisionLog({ sql }: Site): Promise<{ rows: number; allowed: number; last: number }> {
  const text = `SELECT coalesce(sum(rows), 0)::int AS rows, coalesce(sum(last), 0)::int AS last, coalesce(sum(allowed), 0)::int AS allowed
       FROM (SELECT count(*) AS rows, max(seq) AS last,
                    count(*) FILTER (WHERE decision = 'allow' AND reason_code = 'ELIGIBLE') AS allowed
               FROM gate.gate_decisions GROUP BY process) of_processes`;
  const [row] = await sql.query<{ rows: number; allowed: number; last: number }>({ text });
  return row!;
}

const loggedWithinMs = 60_000;
const lookAgainMs = 500;

/** The log is as deployed: each decision is in it once, with consecutive numbers of its process, shortly after its answer. */
export async function decisionLogFaults(site: Site, answers: number): Promise<string[]> {
  const endAt = performance.now() + loggedWithinMs;
  let logged = await readDecisionLog(site);
  while (logged.rows < answers && performance.now() < endAt) {
    await delay(lookAgainMs);
    logged = await readDecisionLog(site);
  }
  const { rows, allowed, last } = logged;
  return [
    ...durabilityFaults(site.settings),
    ...(rows === answers && allowed === answers && last === answers
      ? []
      : [
          `${answers} answers said allow; the log has ${rows} rows, ${allowed} of them allow, and ${last} were numbered.`,
        ]),
  ];
}
