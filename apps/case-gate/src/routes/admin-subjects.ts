import { AppError } from '@sealgate/errors';
import {
  ADMIN_BODY_MAX_BYTES,
  ADMIN_LIST_RANGE,
  adminRoute,
  closedObject,
  lineOfText,
  listOf,
  listQuery,
  readPage,
  type AdminCaller,
  type Route,
} from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { InTransaction, StoredEligibility } from '../domain/case-transaction.ts';
import { changeSubject, type EligibilityPorts, type SubjectAction } from '../domain/change-eligibility.ts';
import { eligibilityView } from '../domain/eligibility-view.ts';
import { Environment, SubjectRef, Text, Time } from '../schemas.ts';
import { adminBase, EnvironmentQuery, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';
import { EligibilityAnswer } from './records.ts';

const ReasonBody = closedObject({ reason: lineOfText({ min: 1, max: 500 }), environment: Type.Optional(Environment) });

const VersionRow = Type.Object({
  record_version: Type.Integer(),
  event: Text,
  actor: Text,
  changed_at: Time,
  record: Type.Object({}, { additionalProperties: true }),
});

/** One version there was of a record. */
export interface RecordVersion {
  readonly recordVersion: number;
  readonly event: string;
  readonly actor: string;
  readonly changedAt: Date;
  readonly document: string;
}

export interface AdminSubjectsPorts extends AdminPorts, EligibilityPorts {
  /** A change of a subject with its audit event, as one transaction. */
  readonly inAuditedTransaction: (
    context: { readonly caller: AdminCaller; readonly requestId: string },
    change: { action: string; subjectRef: string; environment: string; reason: string },
    work: Parameters<InTransaction>[0],
  ) => Promise<unknown>;
  readonly readEligibility: (environment: string, subjectRef: string) => Promise<StoredEligibility>;
  /** Newest first, below `before`. */
  readonly readHistory: (
    id: { environment: string; subjectRef: string },
    page: { limit: number; before: number | undefined },
  ) => Promise<RecordVersion[]>;
}

const ofSubject = Type.Object({ subject_ref: SubjectRef });

export function adminSubjectRoutes(ports: AdminSubjectsPorts): Route<AdminCaller>[] {
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/subjects/:subject_ref',
    operationId: 'getSubject',
    summary: 'The eligibility record of a subject',
    params: ofSubject,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The record.', schema: EligibilityAnswer } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const stored = await ports.readEligibility(environmentOf({}, query), params.subject_ref);
      if (stored.kind === 'none') throw noSubject();
      if (stored.kind === 'corrupt') throw new Error(`The record of ${params.subject_ref} is not intact.`);
      return { status: 200, body: eligibilityView(stored.record, ports.now()) };
    },
  });
  const history = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/subjects/:subject_ref/history',
    operationId: 'listSubjectHistory',
    summary: 'Every version of the record of a subject, newest first',
    params: ofSubject,
    query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
    responses: { 200: { description: 'A page.', schema: listOf(VersionRow) } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const id = { environment: environmentOf({}, query), subjectRef: params.subject_ref };
      const page = readPage(query, ports.cursors, ['history', id.environment, id.subjectRef]);
      const before = page.after === undefined ? undefined : Number(page.after);
      const rows = await ports.readHistory(id, { limit: page.limit + 1, before });
      if (rows.length === 0 && before === undefined) throw noSubject();
      const item = (row: RecordVersion) => ({
        record_version: row.recordVersion,
        event: row.event,
        actor: row.actor,
        changed_at: row.changedAt.toISOString(),
        record: JSON.parse(row.document) as object,
      });
      return { status: 200, body: page.answer(rows, { item, position: ({ recordVersion }) => recordVersion }) };
    },
  });
  return [get, history, ...(['suspend', 'reinstate', 'revoke'] as const).map((action) => actionRoute(ports, action))];
}

const SUMMARIES: Readonly<Record<SubjectAction, string>> = {
  suspend: 'Deny a subject everywhere until it is reinstated',
  reinstate: 'End a suspension',
  revoke: 'Deny a subject everywhere for ever; no check that begins after the answer allows',
};

function actionRoute(ports: AdminSubjectsPorts, action: SubjectAction): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: `/admin/v1/subjects/:subject_ref/${action}` as '/admin/v1/subjects/:subject_ref/revoke',
    operationId: `${action}Subject`,
    summary: SUMMARIES[action],
    params: ofSubject,
    query: EnvironmentQuery,
    body: ReasonBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The record.', schema: EligibilityAnswer } },
    errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION'],
    async handler(context) {
      const { subject_ref: subjectRef } = context.params;
      const { reason } = context.body;
      const environment = environmentOf(context.body, context.query);
      const { actor } = context.caller;
      const audited = { action: `subject.${action}`, subjectRef, environment, reason };
      const record = await ports.inAuditedTransaction(context, audited, (tx) =>
        changeSubject(tx, ports, { environment, subjectRef, action, reason, actor }),
      );
      return { status: 200, body: eligibilityView(record as Parameters<typeof eligibilityView>[0], ports.now()) };
    },
  });
}

function noSubject(): AppError {
  return new AppError('NOT_FOUND', 'There is no such subject.');
}
