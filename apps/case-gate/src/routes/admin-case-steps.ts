import { ADMIN_BODY_MAX_BYTES, adminBase, adminRoute, CASES, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { PackPorts } from '../domain/assessor-pack.ts';
import { attach } from '../domain/attach.ts';
import { SealedCase } from '../domain/case-record.ts';
import { changeCase, withdraw, type CaseReadPorts } from '../domain/case-lifetime.ts';
import type { CaseAction } from '../domain/case-transaction.ts';
import { changeVenues, type CreateCasePorts } from '../domain/create-case.ts';
import { decideCase, type DecidePorts } from '../domain/decide-case.ts';
import { sealCase, type SealPorts } from '../domain/seal-case.ts';
import { PolicyVersion } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery } from './admin-base.ts';
import { ofCase } from './admin-cases.ts';
import {
  attachAnswer,
  attachStep,
  decideAnswer,
  decideNotes,
  decideStep,
  sealAnswer,
  sealNotes,
  sealResponses,
  sealStep,
} from './case-steps.ts';
import { caseAnswer, createFrom, createStep, REPLAYED, venuesStep, withdrawStep, type CasesPorts } from './cases.ts';
import { draftQuery, exportPack, packStep, type RecordsPorts } from './records.ts';

export type AdminCaseStepsPorts = CaseReadPorts &
  Omit<CreateCasePorts, 'render'> &
  DecidePorts &
  SealPorts &
  PackPorts &
  Pick<RecordsPorts, 'auditExport'> &
  Pick<CasesPorts, 'inFlight' | 'fingerprints'>;

const base = { ...adminBase, params: ofCase, bodyMaxBytes: ADMIN_BODY_MAX_BYTES, query: EnvironmentQuery } as const;

/** The steps of the public listener for operators, three of them for reviewers too, each with an audit event in its transaction. */
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

/** The case and the actor of a request, and its audit event. */
function actingOn({ caller: { actor }, requestId, params: { case_id: caseId }, query }: Acting) {
  const environment = environmentOf({}, query);
  const event = (action: string, detail: CaseAction['detail'] = {}): CaseAction => ({
    action,
    caseId,
    actor,
    requestId,
    detail: { environment, ...detail },
  });
  return { of: { environment, caseId }, actor, event };
}

function createRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    ...createStep,
    path: '/admin/v1/cases',
    operationId: 'createAdminCase',
    query: EnvironmentQuery,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    async handler(context) {
      const { actor } = context.caller;
      const creator = { environment: environmentOf({}, context.query), actor, auditedIn: context.requestId };
      // The id of a key family contains no space, so the scopes of operators and keys are disjoint.
      return createFrom(ports, context, { creator, owner: `admin ${actor}`, casesPath: '/admin/v1/cases' });
    },
  });
}

function venuesRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    ...venuesStep,
    path: '/admin/v1/cases/:case_id/venues',
    operationId: 'changeCaseVenues',
    async handler(context) {
      const { of, actor, event } = actingOn(context);
      const { venue_ids: venueIds } = context.body;
      const record = await changeCase(ports, of, async (tx, locked) => {
        const changed = await changeVenues(tx, locked, { venueIds, actor, at: new Date(ports.now()) });
        if (changed !== locked) await tx.audit(event('case.venues'));
        return changed;
      });
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function withdrawRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    ...withdrawStep,
    path: '/admin/v1/cases/:case_id/withdraw',
    operationId: 'withdrawCaseByOperator',
    async handler(context) {
      const { of, actor, event } = actingOn(context);
      const record = await changeCase(ports, of, async (tx, locked) => {
        const withdrawn = await withdraw(tx, locked, { actor, at: new Date(ports.now()) });
        await tx.audit(event('case.withdraw'));
        return withdrawn;
      });
      return { status: 200, body: caseAnswer(record) };
    },
  });
}

function attachRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    ...attachStep,
    permit: CASES.review,
    path: '/admin/v1/cases/:case_id/attachments',
    operationId: 'attachToCase',
    async handler(context) {
      const { of, actor, event } = actingOn(context);
      const { attachments } = context.body;
      const done = await changeCase(ports, of, async (tx, locked) => {
        const at = new Date(ports.now());
        const result = await attach(tx, locked, { attachments, actor, at, newId: ports.newId });
        if (result.added) await tx.audit(event('case.attach'));
        return result;
      });
      return { status: done.added ? 201 : 200, body: attachAnswer(done.record, done.attachments) };
    },
  });
}

function decideRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    ...decideStep,
    permit: CASES.review,
    path: '/admin/v1/cases/:case_id/decide',
    operationId: 'decideCaseByOperator',
    description: 'Without `decision` the rules of the version decide; the caller may name an outcome.',
    async handler(context) {
      const { of, actor, event } = actingOn(context);
      const order = { ...context.body, actor };
      const decided = await changeCase(ports, of, async (tx, record) => {
        const result = await decideCase(tx, record, { ports, order });
        const { decision_id, decision, policy_version } = result.decision;
        const decided_by = order.decision === undefined ? 'rules' : context.caller.roles[0]!;
        const detail = { decision_id, policy_version, decision, decided_by };
        if (!result.repeated) await tx.audit(event('case.decide', detail));
        return result;
      });
      context.note(decideNotes(decided));
      return { status: decided.repeated ? 200 : 201, body: decideAnswer(decided) };
    },
  });
}

function sealRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...base,
    ...sealStep,
    permit: CASES.review,
    path: '/admin/v1/cases/:case_id/seal',
    operationId: 'sealCaseByOperator',
    description: 'Idempotent: case and policy version identify the seal.',
    body: closedObject({ policy_version: PolicyVersion }),
    responses: sealResponses(SealedCase),
    async handler(context) {
      const { of, actor } = actingOn(context);
      const order = { ...of, policyVersion: context.body.policy_version, actor, auditedIn: context.requestId };
      const { seal, byThis } = await sealCase(ports, order);
      context.note(sealNotes(seal, byThis));
      return { status: byThis ? 201 : 200, body: sealAnswer(seal), ...(byThis ? {} : { headers: REPLAYED }) };
    },
  });
}

function packRoute(ports: AdminCaseStepsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    ...packStep,
    permit: CASES.read,
    path: '/admin/v1/cases/:case_id/assessor-pack',
    operationId: 'getCasePack',
    params: ofCase,
    query: Type.Object({ ...environmentQuery, ...draftQuery }, { additionalProperties: false }),
    async handler(context) {
      const { of, actor } = actingOn(context);
      const { query, requestId } = context;
      const order = { ...of, isDraft: query.draft === 'true', actor, requestId };
      return exportPack(ports, { ...order, accept: context.header('accept') });
    },
  });
}
