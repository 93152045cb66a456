import { hash } from 'node:crypto';
import { type AdminClient, demoKey, textOf } from '../start/admin-client.ts';
import type { Secrets } from '../start/secrets.ts';
import { expectMade, inParallel, pick, type Posted, postPatiently, spread } from './post-patiently.ts';

interface DemoGate {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly environment: string;
  readonly scopes: readonly string[];
  readonly policyVersion: string;
}

/** Keys of concurrent senders, so that the rate limit of the demo key is not used up. */
const keyNames = [1, 2, 3, 4].map((number) => `demo.gateImport${number}`);

function senders({ admin, secrets, environment, scopes }: DemoGate): Promise<string[]> {
  const order = { label: 'Crew registration', environment, scopes };
  return Promise.all(keyNames.map((name) => demoKey({ admin, secrets }, { name, path: '/keys', order })));
}

/** Cases are equal when they are sent again: their dates count from the first start. */
const fromName = 'demo.gateFrom';

/** The draft that is created last: if it exists, everything does. */
const DRAFT = 'demo-2';
const RETIRED = 'demo-0';

/**
 * Creates cases in every state, actions of operators, and a day of checks. If interrupted, the next start continues.
 */
export async function fillGate(demo: DemoGate): Promise<void> {
  const { admin, url, secrets } = demo;
  const draft = await admin.get(`/policies/${DRAFT}`);
  if (draft.status !== 404) return void textOf(draft, 'policy_version');
  await makeVenues(demo);
  const keys = await senders(demo);
  const from = Number(secrets.recall(fromName) ?? Date.now());
  secrets.remember(fromName, String(from));
  await inParallel(keys, demoCases(from), (key, one) => takeCase(senderOf(url, key), one, demo.policyVersion));
  for (const { subject, action, reason } of AFTERWARDS)
    expectDone(await admin.post(`/subjects/${subject}/${action}`, { reason }));
  await inParallel(
    keys,
    demoChecks(),
    async (key, check) => void expectMade(await senderOf(url, key)('gate/check', check)),
  );
  await makePolicies(demo);
  for (const name of keyNames) await admin.delete(`/keys/${secrets.recall(`${name}Id`)}`);
}

type Send = (path: string, body: object, idempotencyKey?: string) => Promise<Posted>;

const senderOf =
  (url: string, key: string): Send =>
  (path, body, idempotencyKey) =>
    postPatiently(`${url}/v1/${path}`, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
    });

async function makeVenues({ admin, environment }: DemoGate): Promise<void> {
  for (const { venue_id: id, name } of VENUES) {
    const made = await admin.post('/venues', { venue_id: id, environment, name, active: id !== 'ferry-pier' });
    if (made.body['code'] !== 'ALREADY_EXISTS') textOf(made, 'venue_id');
  }
}

async function takeCase(send: Send, demo: DemoCase, policyVersion: string): Promise<void> {
  const { subject, order, attachments, ending, outcome } = demo;
  const caseId = String(expectMade(await send('cases', order, `demo-case-${subject}`))['case_id']);
  if (ending === 'received') return;
  expectDone(await send(`cases/${caseId}/attachments`, { attachments }));
  if (ending === 'attached') return;
  if (ending === 'withdrawn') return expectDone(await send(`cases/${caseId}/withdraw`, {}));
  expectDone(await send(`cases/${caseId}/decide`, { policy_version: policyVersion, ...outcome }));
  if (ending === 'sealed') expectMade(await send(`cases/${caseId}/seal`, {}, `${caseId}:${policyVersion}`));
}

/** Steps done by an earlier start are rejected because of the resulting state. */
function expectDone(posted: { readonly status: number; readonly body?: object } & Partial<Posted>): void {
  const members = posted.members ?? { ...posted.body };
  if (members['code'] !== 'INVALID_STATE_TRANSITION') expectMade({ status: posted.status, members });
}

/** One policy that is over, and a draft with stricter rules than the current one, to be tried on past decisions. */
async function makePolicies({ admin, environment }: DemoGate): Promise<void> {
  const refer = (reason: string) => ({ decision: 'refer', reason_codes: [reason] });
  const former = {
    policy_version: RETIRED,
    environment,
    status: 'active',
    rules: { rules: [], default: refer('BY_HAND') },
  };
  const made = await admin.post('/policies', former);
  if (made.body['code'] !== 'ALREADY_EXISTS') textOf(made, 'policy_version');
  expectDone(await admin.patch(`/policies/${RETIRED}?environment=${environment}`, { status: 'retired' }));
  const has = (label: string) => ({ in: [label, { var: 'attachment_labels' }] });
  const when = { and: [has('passport'), has('work permit')] };
  const rules = [{ when, decision: 'approve', reason_codes: ['IDENTITY_SHOWN', 'PERMIT_SHOWN'] }];
  const draft = {
    policy_version: DRAFT,
    environment,
    status: 'draft',
    rules: { rules, default: refer('PERMIT_NOT_SHOWN') },
  };
  textOf(await admin.post('/policies', draft), 'policy_version');
}

export const VENUES = [
  { venue_id: 'harbour-hall', name: 'Harbour Hall' },
  { venue_id: 'north-quay', name: 'North Quay gatehouse' },
  { venue_id: 'cold-store', name: 'Cold store, dock 4' },
  { venue_id: 'rail-terminal', name: 'Rail terminal' },
  { venue_id: 'ferry-pier', name: 'Ferry pier (closed)' },
] as const;

const OPEN = VENUES.slice(0, -1);

/** Final state of a case: see the states of surface B. */
type Ending = 'received' | 'attached' | 'referred' | 'approved' | 'declined' | 'sealed' | 'withdrawn';

interface DemoCase {
  readonly subject: string;
  readonly order: object;
  readonly attachments: readonly object[];
  readonly ending: Ending;
  /** Besides the policy version; undefined if its rules decide alone. */
  readonly outcome?: object;
}

const CASES = 48;
const DAY_MS = 86_400_000;
const ENDINGS: readonly Ending[] = [
  ...(['sealed', 'received', 'sealed', 'attached', 'sealed', 'declined'] as const),
  ...(['sealed', 'referred', 'sealed', 'approved', 'withdrawn', 'sealed'] as const),
];
const COMPANIES = ['Nordlicht Logistik', 'Balticline', 'Rhone Transports', 'Kuehlkette Nord'] as const;
const TASKS = ['driver', 'forklift operator', 'customs agent', 'technician', 'cleaner'] as const;

/**
 * Drivers and crews who request entry; some have no passport, so that a person must review them. @param from
 * milliseconds since the epoch: approvals expire days after it.
 */
export function demoCases(from: number): DemoCase[] {
  return Array.from({ length: CASES }, (_, index) => {
    const ending = pick(ENDINGS, index);
    const subject = subjectOf(index);
    const labels =
      ending === 'referred' ? ['driving licence'] : ['passport', pick(['driving licence', 'work permit'], index)];
    const venues = index % 4 === 0 ? ['*'] : [pick(OPEN, index).venue_id, pick(OPEN, index + 1).venue_id];
    return {
      subject,
      ending,
      order: {
        subject_ref: subject,
        venue_ids: venues,
        external_ref: `HR-${20_260 + index}`,
        metadata: { company: pick(COMPANIES, index), task: pick(TASKS, spread(index, 50)) },
      },
      attachments: labels.map((label) => ({
        kind: 'vault_ref',
        ref: `vault/${subject}/${label.replaceAll(' ', '-')}`,
        label,
        sha256: hash('sha256', `demo ${subject} ${label}`, 'hex'),
        media_type: 'application/pdf',
        size_bytes: 40_000 + spread(index, 900_000),
      })),
      ...(ending === 'declined'
        ? { outcome: { decision: 'decline', reason_codes: [pick(['DOCUMENT_EXPIRED', 'NAME_MISMATCH'], index)] } }
        : {}),
      ...(ending === 'sealed' && index % 3 === 0
        ? { outcome: { valid_until: new Date(from + (2 + spread(index, 60)) * DAY_MS).toISOString() } }
        : {}),
    };
  });
}

const subjectOf = (index: number): string => `subj_crew_${String(index + 1).padStart(3, '0')}`;

/** Actions of operators on subjects with a sealed approval. */
export const AFTERWARDS = [
  { subject: subjectOf(0), action: 'suspend', reason: 'The badge was reported lost.' },
  { subject: subjectOf(2), action: 'suspend', reason: 'Safety training is due.' },
  { subject: subjectOf(2), action: 'reinstate', reason: 'Safety training was passed.' },
  { subject: subjectOf(4), action: 'revoke', reason: 'The contract has ended.' },
] as const;

function whoStands(index: number): string {
  if (index % 31 === 30) return `subj_stranger_${index}`;
  return index % 15 === 7 ? pick(AFTERWARDS, index).subject : subjectOf(spread(index, CASES));
}

/** Checks at the venues. */
export function demoChecks(): { subject_ref: string; venue_id: string }[] {
  return Array.from({ length: 120 }, (_, index) => ({
    subject_ref: whoStands(index),
    venue_id: index % 41 === 40 ? 'no-such-door' : pick(VENUES, spread(index * 5 + 1, 15)).venue_id,
  }));
}
