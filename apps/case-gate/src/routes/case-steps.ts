import { AppError } from '@sealgate/errors';
import { closedObject, named, routeFor, type RequestNotes, type Route } from '@sealgate/http';
import { parseIdempotencyKey } from '@sealgate/idempotency';
import { Type, type Static } from '@sinclair/typebox';
import { attach, refuseVaultBytes } from '../domain/attach.ts';
import { changeCase, type CaseReadPorts } from '../domain/case-lifetime.ts';
import {
  AttachmentAnswer,
  CaseDecision,
  CaseSeal,
  NewAttachment,
  NewDecision,
  type Attachment,
  type CaseRecord,
  type Seal,
} from '../domain/case-record.ts';
import { CaseStatus } from '../domain/case-states.ts';
import { decideCase, type Decided, type DecidePorts } from '../domain/decide-case.ts';
import type { GateCaller } from '../domain/key.ts';
import { sealCase, type SealPorts } from '../domain/seal-case.ts';
import { answerOf, BODY_MAX_BYTES, CaseId, PolicyVersion, Text } from '../schemas.ts';
import { REPLAYED } from './cases.ts';

const route = routeFor<GateCaller>();

const AttachBody = closedObject({ attachments: Type.Array(NewAttachment, { minItems: 1, maxItems: 50 }) });

const AttachAnswer = named(
  'CaseAttachments',
  Type.Object({ case_id: Text, status: CaseStatus, attachments: Type.Array(AttachmentAnswer) }),
);

export type CaseStepsPorts = CaseReadPorts & DecidePorts & SealPorts;

const params = Type.Object({ case_id: CaseId });

/** The description of a step that both listeners offer. */
export const attachStep = {
  method: 'post',
  idempotency: 'none',
  summary: 'Attach vault references or upload handles; never bytes',
  inspect: refuseVaultBytes,
  body: AttachBody,
  responses: {
    200: { description: 'All of them were attached before.', schema: AttachAnswer },
    201: { description: 'Attached.', schema: AttachAnswer },
  },
  errors: [
    ...(['NOT_FOUND', 'VAULT_BYTES_NOT_ALLOWED', 'ATTACHMENT_CONFLICT', 'LIMIT_REACHED'] as const),
    ...(['INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'] as const),
  ],
} as const;

export const decideStep = {
  method: 'post',
  idempotency: 'none',
  summary: 'Record a decision under a policy version',
  body: NewDecision,
  responses: {
    200: { description: 'This outcome was recorded before.', schema: CaseDecision },
    201: { description: 'Recorded.', schema: CaseDecision },
  },
  errors: [
    ...(['NOT_FOUND', 'UNKNOWN_POLICY_VERSION', 'POLICY_VERSION_RETIRED', 'DECISION_CONFLICT'] as const),
    ...(['INVALID_STATE_TRANSITION', 'OUTCOME_UNKNOWN'] as const),
  ],
} as const;

/** Answers are described by `sealResponses`. */
export const sealStep = {
  method: 'post',
  idempotency: 'in-transaction',
  summary: 'Seal the current decision into the ledger, once',
  errors: ['NOT_FOUND', 'CASE_NOT_DECIDED', 'RECORD_CONFLICT', 'LEDGER_UNAVAILABLE', 'OUTCOME_UNKNOWN'],
} as const;

export function sealResponses(schema: typeof CaseSeal) {
  return {
    200: { description: 'It was sealed before.', schema },
    201: { description: 'Sealed by this request.', schema },
  };
}

export function caseStepRoutes(ports: CaseStepsPorts): Route<GateCaller>[] {
  return [attachRoute(ports), decideRoute(ports), sealRoute(ports)];
}

function attachRoute(ports: CaseStepsPorts): Route<GateCaller> {
  return route({
    ...attachStep,
    path: '/v1/cases/:case_id/attachments',
    operationId: 'attach',
    permit: 'case:write',
    charge: 1,
    params,
    bodyMaxBytes: BODY_MAX_BYTES,
    async handler({ caller, params: { case_id: caseId }, body }) {
      const { environment, keyId: actor } = caller;
      const { attachments } = body;
      const done = await changeCase(ports, { environment, caseId }, (tx, locked) =>
        attach(tx, locked, { attachments, actor, at: new Date(ports.now()), newId: ports.newId }),
      );
      return { status: done.added ? 201 : 200, body: attachAnswer(done.record, done.attachments) };
    },
  });
}

export function attachAnswer(
  { case_id, status }: CaseRecord,
  attached: readonly Attachment[],
): Static<typeof AttachAnswer> {
  return { case_id, status, attachments: attached.map((each) => answerOf(AttachmentAnswer, each)) };
}

function decideRoute(ports: CaseStepsPorts): Route<GateCaller> {
  return route({
    ...decideStep,
    path: '/v1/cases/:case_id/decide',
    operationId: 'decideCase',
    description: 'Without `decision` the rules of the version decide; naming an outcome also needs case:override.',
    permit: 'case:decide',
    charge: 1,
    params,
    bodyMaxBytes: BODY_MAX_BYTES,
    errors: ['FORBIDDEN', ...decideStep.errors],
    async handler(context) {
      const { caller, body } = context;
      const { case_id: caseId } = context.params;
      const { environment, keyId: actor } = caller;
      const order = { ...body, actor };
      const mayOverride = context.allows('case:override');
      const decided = await changeCase(ports, { environment, caseId }, (tx, record) => {
        if (order.decision !== undefined && !mayOverride) {
          throw new AppError('FORBIDDEN', 'Naming an outcome needs case:override.');
        }
        return decideCase(tx, record, { ports, order });
      });
      context.note(decideNotes(decided));
      return { status: decided.repeated ? 200 : 201, body: decideAnswer(decided) };
    },
  });
}

/** What the log says of a decision. */
export const decideNotes = ({ decision: { decision: outcome }, repeated }: Decided): RequestNotes => ({
  outcome,
  ...(repeated ? { replayed: true } : {}),
});

/** What the log says of a seal. */
export const sealNotes = ({ ledger_record_id: ledgerRecordId }: Seal, byThis: boolean): RequestNotes => ({
  ledgerRecordId,
  ...(byThis ? {} : { replayed: true }),
});

export const decideAnswer = ({ record, decision }: Decided) =>
  answerOf(CaseDecision, { ...decision, status: record.status });

const POLICY_VERSION = new RegExp(PolicyVersion.pattern!);

function sealRoute(ports: CaseStepsPorts): Route<GateCaller> {
  return route({
    ...sealStep,
    path: '/v1/cases/:case_id/seal',
    operationId: 'sealCase',
    description: 'The Idempotency-Key is `{case_id}:{policy_version}`.',
    permit: 'case:seal',
    charge: 1,
    params,
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: sealResponses(CaseSeal),
    errors: ['IDEMPOTENCY_KEY_REQUIRED', 'IDEMPOTENCY_KEY_MISMATCH', ...sealStep.errors],
    async handler(context) {
      const { environment, keyId: actor } = context.caller;
      const { case_id: caseId } = context.params;
      // 404 comes before any fault of the header.
      const record = await ports.readCase(environment, caseId);
      if (record === undefined) throw new AppError('NOT_FOUND', 'There is no such case.');
      const policyVersion = versionOf(caseId, parseIdempotencyKey(context.idempotency.keys));
      const { seal, byThis } = await sealCase(ports, { environment, caseId, policyVersion, actor });
      context.note(sealNotes(seal, byThis));
      return { status: byThis ? 201 : 200, body: sealAnswer(seal), ...(byThis ? {} : { headers: REPLAYED }) };
    },
  });
}

/** The policy version of a key `{case_id}:{policy_version}`. */
function versionOf(caseId: string, key: string | undefined): string {
  const detail = 'A seal needs the Idempotency-Key {case_id}:{policy_version}.';
  if (key === undefined) throw new AppError('IDEMPOTENCY_KEY_REQUIRED', detail);
  const version = key.startsWith(`${caseId}:`) ? key.slice(caseId.length + 1) : '';
  if (!POLICY_VERSION.test(version)) throw new AppError('IDEMPOTENCY_KEY_MISMATCH', detail);
  return version;
}

/** Shows the seal as it was made, so that every answer about it is the same. */
export function sealAnswer(seal: Seal): Static<typeof CaseSeal> {
  if (seal.sealed_at === null) throw new Error('The seal is not complete.');
  return answerOf(CaseSeal, { ...seal, status: 'sealed', sealed_at: seal.sealed_at });
}
