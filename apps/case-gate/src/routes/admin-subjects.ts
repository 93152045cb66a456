import type { DocumentSigner } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import {
  ADMIN_BODY_MAX_BYTES,
  adminBase,
  adminRoute,
  CASES,
  exportedList,
  listRoute,
  rowsOf,
  type AdminCaller,
  type NamesOfActors,
} from '@sealgate/admin-api';
import { closedObject, enumOf, lineOfText, named, type Route } from '@sealgate/http';
import type { TableList } from '@sealgate/paging';
import { Type } from '@sinclair/typebox';
import type { ListedSubject, SubjectFilter } from '../data/eligibility-store.ts';
import type { CaseTransaction, StoredEligibility } from '../domain/case-transaction.ts';
import {
  changeSubject,
  confirmSubject,
  type EligibilityPorts,
  type SubjectAction,
} from '../domain/change-eligibility.ts';
import {
  storedStatus,
  UNCONFIRMED_CAUSES,
  type EligibilityRecord,
  type UnconfirmedRecord,
} from '../domain/eligibility-record.ts';
import { EligibilityAnswer, EligibilityStatus, eligibilityView, statusAt } from '../domain/eligibility-view.ts';
import { OrNull, SubjectRef, Text, Time } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery, ofEnvironment, type AdminPorts } from './admin-base.ts';

const reasoned = {
  reason: {
    ...lineOfText({ min: 1, max: 500 }),
    description: 'The reason, stored in the record and the audit log.',
  },
  ...environmentQuery,
};
const ReasonBody = named('SubjectActionRequest', closedObject(reasoned));

const VersionRow = named(
  'SubjectVersion',
  Type.Object({
    record_version: Type.Integer(),
    event: Text,
    actor: Text,
    changed_at: Time,
    record: Type.Object({}, { additionalProperties: true }),
  }),
);

/** One version of a record. */
export interface RecordVersion {
  readonly recordVersion: number;
  readonly event: string;
  readonly actor: string;
  readonly changedAt: Date;
  readonly document: string;
}

export interface AdminSubjectsPorts extends AdminPorts, EligibilityPorts {
  readonly signer: DocumentSigner;
  readonly actorNames: NamesOfActors;
  /** Changes a subject and writes the audit event in one transaction. */
  readonly inAuditedTransaction: (
    context: { readonly caller: AdminCaller; readonly requestId: string },
    change: {
      readonly action: string;
      readonly subjectRef: string;
      readonly environment: string;
      readonly reason: string;
      /** The version that the request named, where it had to. */
      readonly recordVersion?: number;
    },
    work: (tx: CaseTransaction) => Promise<EligibilityRecord>,
  ) => Promise<EligibilityRecord>;
  readonly readEligibility: (environment: string, subjectRef: string) => Promise<StoredEligibility>;
  readonly subjects: TableList<SubjectFilter, ListedSubject, 'subject_ref' | 'changed_at'>;
  readonly countUnconfirmed: (environment: string) => Promise<number>;
  readonly countHistory: (id: { environment: string; subjectRef: string }) => Promise<number>;
  /** Unconfirmed subjects, by subject, after `after`. */
  readonly readUnconfirmed: (
    environment: string,
    page: { limit: number; after: string },
  ) => Promise<readonly UnconfirmedRecord[]>;
  /** Newest first, before version `before`. */
  readonly readHistory: (
    id: { environment: string; subjectRef: string },
    page: { limit: number; before: number | undefined },
  ) => Promise<RecordVersion[]>;
}

const ofSubject = Type.Object({ subject_ref: SubjectRef });

const SubjectRow = named(
  'Subject',
  Type.Object({
    subject_ref: Text,
    environment: Text,
    status: EligibilityStatus,
    record_version: Type.Integer(),
    changed_at: Time,
    valid_until: OrNull(Time),
    intact: Type.Boolean({
      description: 'False: the row failed its integrity check, what it says is not to be trusted, and the gate denies.',
    }),
  }),
);

const subjectFilters = {
  ...environmentQuery,
  status: Type.Optional({
    ...EligibilityStatus,
    description: 'Only with this status. A subject whose approval has ended is still found as `eligible`.',
  }),
};

function subjectsRoutes(ports: AdminSubjectsPorts): Route<AdminCaller>[] {
  return exportedList({
    path: '/admin/v1/subjects',
    operationId: 'listSubjects',
    summary: 'List the subjects of an environment with their eligibility',
    description: 'As the rows say, without the review of declared losses: read one subject for what the gate decides.',
    filters: subjectFilters,
    defaults: ofEnvironment.defaults,
    search: true,
    sorts: { fields: ['subject_ref', 'changed_at'], default: 'subject_ref' },
    name: 'subjects',
    boundTo: ['environment', 'status'],
    ...rowsOf(
      () => ports.subjects,
      ({ record, ...row }) => ({
        ...row,
        ...(record !== undefined && { status: statusAt(record, ports.now()) }),
        valid_until: record?.current?.valid_until ?? null,
        intact: record !== undefined,
      }),
    ),
    row: SubjectRow,
    exported: { resource: 'subject', of: 'environment', auditChange: ports.auditChange },
    cursors: ports.cursors,
  });
}

export function adminSubjectRoutes(ports: AdminSubjectsPorts): Route<AdminCaller>[] {
  const get = adminRoute({
    ...adminBase,
    permit: CASES.read,
    method: 'get',
    path: '/admin/v1/subjects/:subject_ref',
    operationId: 'getSubject',
    summary: 'Read the eligibility record of a subject',
    params: ofSubject,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The record.', schema: EligibilityAnswer } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const stored = await ports.readEligibility(environmentOf({}, query), params.subject_ref);
      if (stored.kind === 'none') throw noSubject();
      if (stored.kind === 'corrupt') throw new Error(`The record of ${params.subject_ref} failed its integrity check.`);
      return { status: 200, body: eligibilityView(stored.record, stored.review, ports) };
    },
  });
  const history = listRoute({
    permit: CASES.read,
    path: '/admin/v1/subjects/:subject_ref/history',
    operationId: 'listSubjectHistory',
    summary: 'List the versions of the record of a subject, newest first',
    params: ofSubject,
    ...ofEnvironment,
    errors: ['NOT_FOUND'],
    name: 'history',
    boundTo: ['environment', 'subject_ref'],
    async count({ environment, subject_ref: subjectRef }) {
      const counted = await ports.countHistory({ environment, subjectRef });
      if (counted === 0) throw noSubject();
      return counted;
    },
    rows: ({ environment, subject_ref: subjectRef, limit, after: before }) =>
      ports.readHistory({ environment, subjectRef }, { limit, before }),
    positionOf: ({ recordVersion }: RecordVersion) => recordVersion,
    row: VersionRow,
    rowOf: (row) => ({
      record_version: row.recordVersion,
      event: row.event,
      actor: row.actor,
      changed_at: row.changedAt.toISOString(),
      record: JSON.parse(row.document) as object,
    }),
    actors: { of: ({ actor }) => actor, names: ports.actorNames },
    cursors: ports.cursors,
  });
  const confirming = [listUnconfirmedRoute(ports), confirmRoute(ports)];
  return [
    ...subjectsRoutes(ports),
    get,
    history,
    ...confirming,
    ...(['suspend', 'reinstate', 'revoke'] as const).map((action) => actionRoute(ports, action)),
  ];
}

const SUMMARIES: Readonly<Record<SubjectAction, string>> = {
  suspend: 'Deny a subject at every venue until it is reinstated',
  reinstate: 'End the suspension of a subject',
  revoke: 'Deny a subject at every venue, permanently; no check that begins after the answer allows it',
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
      return { status: 200, body: eligibilityView(record, record.loss, ports) };
    },
  });
}

const UnconfirmedRow = named(
  'UnconfirmedSubject',
  Type.Object({
    subject_ref: Text,
    environment: Text,
    status: Type.String({ description: 'The stored status: `unconfirmed`, or `suspended`, which outranks it.' }),
    record_version: Type.Integer({ description: 'The version to name when confirming.' }),
    changed_at: Time,
    epoch: Type.Integer({
      description: 'Epoch of the ledger channel whose declaration made the confirmation necessary.',
    }),
    cause: enumOf('UnconfirmedCause', UNCONFIRMED_CAUSES, {
      description:
        '`changed_since`: changed after the newest ledger record that was kept. `not_in_ledger`: the ledger lost this version. `newer_version_seen`: a later version was seen and is lost.',
    }),
  }),
);

function listUnconfirmedRoute(ports: AdminSubjectsPorts): Route<AdminCaller> {
  return listRoute({
    path: '/admin/v1/unconfirmed-subjects',
    operationId: 'listUnconfirmedSubjects',
    summary: 'List subjects that are denied until an operator confirms them, after a declared loss of ledger records',
    ...ofEnvironment,
    page: 'A page, by subject.',
    name: 'unconfirmed',
    boundTo: ['environment'],
    count: ({ environment }) => ports.countUnconfirmed(environment),
    rows: ({ environment, limit, after = '' }) => ports.readUnconfirmed(environment, { limit, after }),
    positionOf: (record: UnconfirmedRecord) => record.subject_ref,
    row: UnconfirmedRow,
    rowOf: (record) => ({
      subject_ref: record.subject_ref,
      environment: record.environment,
      status: storedStatus(record),
      record_version: record.record_version,
      changed_at: record.changed_at,
      epoch: record.loss.epoch,
      cause: record.loss.unconfirmed,
    }),
    cursors: ports.cursors,
  });
}

const ConfirmBody = closedObject({
  record_version: Type.Integer({ minimum: 1, description: 'The version of the record that the operator reviewed.' }),
  ...reasoned,
});

function confirmRoute(ports: AdminSubjectsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/subjects/:subject_ref/confirm',
    operationId: 'confirmSubject',
    summary: 'Confirm the record of a subject after a declared loss of ledger records',
    description:
      'The record takes effect again: an approval allows entry. A lost revocation or suspension is not part of it, so review it first, and revoke or suspend instead where there was one. The record and the confirmation are written to the ledger before the answer, if the ledger answers within a second.',
    params: ofSubject,
    query: EnvironmentQuery,
    body: ConfirmBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The record.', schema: EligibilityAnswer } },
    errors: ['NOT_FOUND', 'PRECONDITION_FAILED', 'INVALID_STATE_TRANSITION'],
    async handler(context) {
      const { subject_ref: subjectRef } = context.params;
      const { record_version: recordVersion, reason } = context.body;
      const environment = environmentOf(context.body, context.query);
      const { actor } = context.caller;
      const audited = { action: 'subject.confirm', subjectRef, environment, reason, recordVersion };
      const record = await ports.inAuditedTransaction(context, audited, (tx) =>
        confirmSubject(tx, ports, { environment, subjectRef, recordVersion, actor }),
      );
      return { status: 200, body: eligibilityView(record, record.loss, ports) };
    },
  });
}

function noSubject(): AppError {
  return new AppError('NOT_FOUND', 'There is no such subject.');
}
