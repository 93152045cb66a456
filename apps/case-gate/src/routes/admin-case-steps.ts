import { AppError } from '@sealgate/errors';
import {
  ADMIN_BODY_MAX_BYTES,
  adminRoute,
  closedObject,
  enumOf,
  named,
  type AdminCaller,
  type Route,
} from '@sealgate/http';
import { claimOf, parseIdempotencyKey } from '@sealgate/idempotency';
import { canonical, type JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import { assemblePack, type PackPorts } from '../domain/assessor-pack.ts';
import { attach } from '../domain/attach.ts';
import { changeCase, settledCase, withdraw, type LifetimePorts } from '../domain/case-lifetime.ts';
import type { CaseRecord } from '../domain/case-record.ts';
import type { CaseDeed } from '../domain/case-transaction.ts';
import { changeVenues, createCase, type CreateCasePorts } from '../domain/create-case.ts';
import { decideCase, type DecidePorts } from '../domain/decide-case.ts';
import { sealCase, type SealPorts } from '../domain/seal-case.ts';
import { refuseVaultBytes } from '../domain/vault-bytes.ts';
import { PolicyVersion, VenueIds } from '../schemas.ts';
import { adminBase, EnvironmentQuery, environmentOf, environmentQuery } from './admin-base.ts';
import { ofCase } from './admin-cases.ts';
import {
  AttachAnswer,
  attachAnswer,
  AttachBody,
  attachmentOf,
  DecideAnswer,
  decideAnswer,
  DecideBody,
  orderOf,
  SealAnswer,
  sealAnswer,
} from './case-steps.ts';
import {
  CaseAnswer,
  caseAnswer,
  fieldsOf,
  NewCaseAnswer,
  NewCaseBody,
  renderNewCase,
  REPLAYED,
  type CasesPorts,
} from './cases.ts';
import { packPage, prefersHtml } from './pack-page.ts';
import { Pack, VARY, type RecordsPorts } from './records.ts';

export type AdminCaseStepsPorts = LifetimePorts &
  Omit<CreateCasePorts, 'render'> &
  DecidePorts &
  SealPorts &
  PackPorts &
  Pick<RecordsPorts, 'auditExport'> &
  Pick<CasesPorts, 'inFlight' | 'fingerprints'> & {
    readonly readCase: (environment: string, caseId: string) => Promise<CaseRecord | undefined>;
  };

/** Scopes of keys are listed in this description, and one of them has the other name. */
const SealedCase = named('SealedCase', Type.Object(SealAnswer.properties));

const base = { ...adminBase, params: ofCase, bodyMaxBytes: ADMIN_BODY_MAX_BYTES, query: EnvironmentQuery } as const;

/** What an operator does with a case: the steps of the public listener, each with an audit event in its transaction. */
export function adminCaseStepRoutes(ports: AdminCaseStepsPorts): Route<AdminCaller>[] {
  return [
    createRoute(ports),
    venuesRoute(ports),
    withdrawRoute(ports),
    attachRoute(ports),
    decideRoute(ports),
    sealRoute(ports),
    packRoute(ports),
  ];
}

interface Acting {
  readonly caller: AdminCaller;
  readonly requestId: string;
  readonly params: { readonly case_id: string };
  readonly query: { readonly environment?: string };
}

/** Who does something to which case, and how the audit names it. */
function actingOn({ caller: { actor }, requestId, params: { case_id: caseId }, query }: Acting) {
  const environment = environmentOf({}, query);
  const deed = (action: string, detail: CaseDeed['detail'] = {}): CaseDeed => ({
    action,
    caseId,
    actor,
    requestId,
    detail: { environment, ...detail },
  });
  return { of: { environment, caseId }, actor, deed };
}

function createRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    idempotency: 'in-transaction',
    method: 'post',
    path: '/admin/v1/cases',
    operationId: 'createAdminCase',
    summary: 'Create an onboarding case',
    query: EnvironmentQuery,
    body: NewCaseBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: {
      201: { description: 'The case.', schema: NewCaseAnswer, headers: { Location: 'The path of the case.' } },
    },
    errors: ['IDEMPOTENCY_KEY_REQUIRED', 'UNKNOWN_VENUE', 'OUTCOME_UNKNOWN'],
    async handler(context) {
      const { body, caller, path, requestId: auditedIn } = context;
      const key = parseIdempotencyKey(context.idempotency.keys);
      if (key === undefined) throw new AppError('IDEMPOTENCY_KEY_REQUIRED', 'A case needs an Idempotency-Key.');
      const environment = environmentOf({}, context.query);
      const { actor } = caller;
      const claim = claimOf({
        hasher: ports.fingerprints,
        // No key family has a space in its id.
        scope: [environment, `admin ${actor}`, 'createCase'],
        key,
        method: 'POST',
        path,
        body: Buffer.from(canonical(body as JsonValue)),
      });
      const create = { ...ports, render: renderNewCase };
      const work = () => createCase(create, { environment, actor, auditedIn }, { fields: fieldsOf(body), claim });
      const { value, joined } = await ports.inFlight.run(claim.claim.toString('latin1'), claim.fingerprint, work);
      const { case_id: caseId } = JSON.parse(value.body) as { case_id: string };
      const headers = { Location: `/admin/v1/cases/${caseId}` };
      const isReplay = joined || value.replayed;
      return { status: 201, body: value.body, headers: isReplay ? { ...headers, ...REPLAYED } : headers };
    },
  });
}

function venuesRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    method: 'put',
    path: '/admin/v1/cases/:case_id/venues',
    operationId: 'changeCaseVenues',
    summary: 'Say where the subject may enter, before a decision',
    body: closedObject({ venue_ids: VenueIds }),
    responses: { 200: { description: 'The case.', schema: CaseAnswer } },
    errors: ['NOT_FOUND', 'UNKNOWN_VENUE', 'INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'],
    async handler(context) {
      const { of, actor, deed } = actingOn(context);
      const { venue_ids: venueIds } = context.body;
      const record = await changeCase(ports, of, async (tx, locked) => {
        const changed = await changeVenues(tx, locked, { venueIds, actor, at: new Date(ports.now()) });
        if (changed !== locked) await tx.audit(deed('case.venues'));
        return changed;
      });
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function withdrawRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/cases/:case_id/withdraw',
    operationId: 'withdrawCaseByOperator',
    summary: 'End a case before it is decided',
    body: closedObject({}),
    bodyOptional: true,
    responses: { 200: { description: 'The case.', schema: CaseAnswer } },
    errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'],
    async handler(context) {
      const { of, actor, deed } = actingOn(context);
      const record = await changeCase(ports, of, async (tx, locked) => {
        const withdrawn = await withdraw(tx, locked, { actor, at: new Date(ports.now()) });
        await tx.audit(deed('case.withdraw'));
        return withdrawn;
      });
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function attachRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/cases/:case_id/attachments',
    operationId: 'attachToCase',
    summary: 'Attach vault references or upload handles; never bytes',
    inspect: refuseVaultBytes,
    body: AttachBody,
    responses: {
      200: { description: 'All of them were there before.', schema: AttachAnswer },
      201: { description: 'Attached.', schema: AttachAnswer },
    },
    errors: [
      ...(['NOT_FOUND', 'VAULT_BYTES_NOT_ALLOWED', 'ATTACHMENT_CONFLICT', 'LIMIT_REACHED'] as const),
      ...(['INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'] as const),
    ],
    async handler(context) {
      const { of, actor, deed } = actingOn(context);
      const attachments = context.body.attachments.map(attachmentOf);
      const done = await changeCase(ports, of, async (tx, locked) => {
        const at = new Date(ports.now());
        const result = await attach(tx, locked, { attachments, actor, at, newId: ports.newId });
        if (result.added) await tx.audit(deed('case.attach'));
        return result;
      });
      return { status: done.added ? 201 : 200, body: attachAnswer(done.record, done.attachments) };
    },
  });
}

function decideRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/cases/:case_id/decide',
    operationId: 'decideCaseByOperator',
    summary: 'Record a decision under a policy version',
    description: 'Without `decision` the rules of the version decide; an operator may name an outcome.',
    body: DecideBody,
    responses: {
      200: { description: 'This outcome was recorded before.', schema: DecideAnswer },
      201: { description: 'Recorded.', schema: DecideAnswer },
    },
    errors: [
      ...(['NOT_FOUND', 'UNKNOWN_POLICY_VERSION', 'POLICY_VERSION_RETIRED', 'DECISION_CONFLICT'] as const),
      ...(['INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'] as const),
    ],
    async handler(context) {
      const { of, actor, deed } = actingOn(context);
      const order = orderOf(context.body, { actor, nowMs: ports.now() });
      const decided = await changeCase(ports, of, async (tx, record) => {
        const result = await decideCase(tx, record, { ports, order });
        const { decisionId, decision, policyVersion } = result.decision;
        const named = order.decision === undefined ? 'rules' : 'operator';
        const detail = { decision_id: decisionId, policy_version: policyVersion, decision, decided_by: named };
        if (!result.repeated) await tx.audit(deed('case.decide', detail));
        return result;
      });
      return { status: decided.repeated ? 200 : 201, body: decideAnswer(decided) };
    },
  });
}

function sealRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    idempotency: 'in-transaction',
    method: 'post',
    path: '/admin/v1/cases/:case_id/seal',
    operationId: 'sealCaseByOperator',
    summary: 'Seal the current decision into the ledger, once',
    description: 'Case and policy version name the seal: sent again, it is the one that is there.',
    body: closedObject({ policy_version: PolicyVersion }),
    responses: {
      200: { description: 'It was sealed before.', schema: SealedCase },
      201: { description: 'Sealed by this request.', schema: SealedCase },
    },
    errors: ['NOT_FOUND', 'CASE_NOT_DECIDED', 'RECORD_CONFLICT', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN'],
    async handler(context) {
      const { of, actor } = actingOn(context);
      const order = { ...of, policyVersion: context.body.policy_version, actor, auditedIn: context.requestId };
      const { seal, byThis } = await sealCase(ports, order);
      return { status: byThis ? 201 : 200, body: sealAnswer(seal), ...(byThis ? {} : { headers: REPLAYED }) };
    },
  });
}

function packRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/cases/:case_id/assessor-pack',
    operationId: 'getCasePack',
    summary: 'Everything about a sealed case, signed, for an assessor to check offline; each export is in the audit',
    description: 'With `Accept: text/html` preferred it is a page to print.',
    params: ofCase,
    query: Type.Object(
      { ...environmentQuery, draft: Type.Optional(enumOf('Flag', ['true', 'false'])) },
      { additionalProperties: false },
    ),
    responses: {
      200: { description: 'The pack.', schema: Pack, otherTypes: ['text/html'], headers: { Vary: 'Accept' } },
    },
    errors: ['NOT_FOUND', 'CASE_NOT_SEALED', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN'],
    async handler(context) {
      const { of, actor } = actingOn(context);
      await settledCase(ports, of.environment, of.caseId);
      const pack = await assemblePack(ports, { ...of, isDraft: context.query.draft === 'true' });
      await ports.auditExport({ caseId: of.caseId, actor, requestId: context.requestId, packHash: pack.pack_hash });
      if (!prefersHtml(context.header('accept'))) return { status: 200, body: pack, headers: VARY };
      return { status: 200, body: packPage(pack), contentType: 'text/html; charset=utf-8', headers: VARY };
    },
  });
}
