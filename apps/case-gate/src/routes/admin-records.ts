import type { AuditEvent, AuditPage } from '@sealgate/audit';
import { AppError } from '@sealgate/errors';
import {
  ADMIN_LIST_RANGE,
  adminRoute,
  instantText,
  listOf,
  listQuery,
  named,
  readPage,
  type AdminCaller,
  type Route,
} from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { DecisionFilter, DecisionsStore, LoggedDecision } from '../data/decisions-store.ts';
import { IdText, OrNull, ReasonCode, SubjectRef, Text, Time, VenueId, Verdict } from '../schemas.ts';
import { adminBase, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';

const DecisionRow = named(
  'LoggedDecision',
  Type.Object({
    decision_id: Text,
    process: Type.String({ description: 'The process that decided.' }),
    seq: Type.Integer({ description: 'Its number among the decisions of the process, from 1 without a gap.' }),
    environment: Text,
    key_id: Text,
    request_id: Text,
    subject_ref: OrNull(Text),
    venue_id: OrNull(Text),
    action: Text,
    decision: Verdict,
    reason_codes: Type.Array(Text),
    fail_closed: Type.Boolean(),
    policy_version: OrNull(Text),
    ledger_record_id: OrNull(Text),
    record_version: OrNull(Type.Integer()),
    evaluated_at: Time,
  }),
);

const DecisionsQuery = listQuery(ADMIN_LIST_RANGE, {
  ...environmentQuery,
  subject_ref: Type.Optional(SubjectRef),
  venue_id: Type.Optional(VenueId),
  decision: Type.Optional(Verdict),
  reason_code: Type.Optional(ReasonCode),
  key_id: Type.Optional(IdText),
  from: Type.Optional(instantText()),
  to: Type.Optional(instantText()),
});

const AuditRow = named(
  'AuditEvent',
  Type.Object({
    id: Text,
    at: Time,
    actor: Text,
    action: Text,
    resource: Text,
    resource_id: Text,
    request_id: OrNull(Text),
    detail: Type.Unknown(),
  }),
);

export interface AdminRecordsPorts extends Pick<AdminPorts, 'cursors'> {
  readonly decisions: DecisionsStore;
  readonly listAudit: (page: AuditPage) => Promise<AuditEvent[]>;
}

export function adminRecordRoutes(ports: AdminRecordsPorts): Route<AdminCaller>[] {
  const list = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decisions',
    operationId: 'listDecisions',
    summary: 'What the gate answered, newest first',
    query: DecisionsQuery,
    responses: { 200: { description: 'A page.', schema: listOf(DecisionRow) } },
    errors: [],
    async handler({ query }) {
      const { subject_ref: subject = '', venue_id: venue = '', decision = '', from = '', to = '' } = query;
      const { reason_code: reason = '', key_id: keyId = '' } = query;
      const environment = environmentOf({}, query);
      const filters = [subject, venue, decision, from, to, reason, keyId];
      const page = readPage(query, ports.cursors, ['decisions', environment, ...filters]);
      const before = page.after === undefined ? undefined : positionOf(String(page.after));
      const rows = await ports.decisions.list(filterOf(query, environment), { limit: page.limit + 1, before });
      const position = (row: LoggedDecision) => `${row.evaluatedAt.toISOString()} ${row.decisionId}`;
      return { status: 200, body: page.answer(rows, { item: rowOf, position }) };
    },
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decisions/:decision_id',
    operationId: 'getDecision',
    summary: 'Read one answer of the gate',
    params: Type.Object({ decision_id: IdText }),
    responses: { 200: { description: 'The decision.', schema: DecisionRow } },
    errors: ['NOT_FOUND'],
    async handler({ params }) {
      const row = await ports.decisions.find(params.decision_id);
      if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such decision.');
      return { status: 200, body: rowOf(row) };
    },
  });
  const audit = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/audit',
    operationId: 'listAudit',
    summary: 'Who changed or exported what, newest first',
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(AuditRow) } },
    errors: [],
    async handler({ query }) {
      const page = readPage(query, ports.cursors, ['audit']);
      const [at = '', id = ''] = String(page.after ?? '').split(' ');
      const after = page.after === undefined ? {} : { after: { at: new Date(at), id } };
      const rows = await ports.listAudit({ limit: page.limit + 1, ...after });
      const position = (event: AuditEvent) => `${event.at.toISOString()} ${event.id}`;
      return { status: 200, body: page.answer(rows, { item: auditRowOf, position }) };
    },
  });
  return [list, get, audit];
}

function filterOf(query: Static<typeof DecisionsQuery>, environment: string): DecisionFilter {
  const {
    subject_ref: subjectRef,
    venue_id: venueId,
    decision,
    from,
    to,
    reason_code: reasonCode,
    key_id: keyId,
  } = query;
  return {
    environment,
    ...(subjectRef === undefined ? {} : { subjectRef }),
    ...(venueId === undefined ? {} : { venueId }),
    ...(decision === undefined ? {} : { decision }),
    ...(reasonCode === undefined ? {} : { reasonCode }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(from === undefined ? {} : { from: new Date(from) }),
    ...(to === undefined ? {} : { to: new Date(to) }),
  };
}

function positionOf(text: string): { evaluatedAt: Date; decisionId: string } {
  const [at = '', decisionId = ''] = text.split(' ');
  return { evaluatedAt: new Date(at), decisionId };
}

function rowOf(row: LoggedDecision): Static<typeof DecisionRow> {
  return {
    decision_id: row.decisionId,
    process: row.process,
    seq: row.seq,
    environment: row.environment,
    key_id: row.keyId,
    request_id: row.requestId,
    subject_ref: row.subjectRef,
    venue_id: row.venueId,
    action: row.action,
    decision: row.decision,
    reason_codes: [row.reasonCode],
    fail_closed: row.failClosed,
    policy_version: row.policyVersion,
    ledger_record_id: row.ledgerRecordId,
    record_version: row.recordVersion,
    evaluated_at: row.evaluatedAt.toISOString(),
  };
}

function auditRowOf({
  id,
  at,
  actor,
  action,
  resource,
  resourceId,
  requestId,
  detail,
}: AuditEvent): Static<typeof AuditRow> {
  return { id, at: at.toISOString(), actor, action, resource, resource_id: resourceId, request_id: requestId, detail };
}
