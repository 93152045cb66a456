import { textOf, type AdminClient } from '../../start/admin-client.ts';
import type { Secrets } from '../../start/secrets.ts';
import { demoKey } from '../demo-key.ts';
import { inParallel } from '../in-parallel.ts';
import { expectMade, postPatiently, type Posted } from '../post-patiently.ts';
import { AFTERWARDS, demoCases, demoChecks, VENUES, type DemoCase } from './demo-cases.ts';

export interface DemoGate {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly environment: string;
  readonly scopes: readonly string[];
  readonly policyVersion: string;
}

/** Keys that send at the same time, so that the limits of the demo's own key stay untouched. */
const keyNames = [1, 2, 3, 4].map((number) => `demo.gateImport${number}`);

function senders({ admin, secrets, environment, scopes }: DemoGate): Promise<string[]> {
  const order = { label: 'Import', environment, scopes };
  return Promise.all(keyNames.map((name) => demoKey({ admin, secrets }, { name, path: '/keys', order })));
}

/** Cases are the same when they are sent again: their dates count from the first time. */
const fromName = 'demo.gateFrom';

/** The draft that is made last: where it is, everything is. */
const DRAFT = 'demo-2';
const RETIRED = 'demo-0';

/** Cases in every state, what operators did to subjects, and a day at the doors. Cut short, the next start goes on. */
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

/** What an earlier start has done is refused by the state that it led to. */
function expectDone(posted: { readonly status: number; readonly body?: object } & Partial<Posted>): void {
  const members = posted.members ?? { ...posted.body };
  if (members['code'] !== 'INVALID_STATE_TRANSITION') expectMade({ status: posted.status, members });
}

/** One that is over, and a draft that asks for more than the one in force, to be tried on what was decided. */
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
