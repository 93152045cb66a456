import {
  ActorNames,
  adminBase,
  adminRoute,
  CASES,
  exportedList,
  listRoute,
  rowsOf,
  timeFilter,
  type AdminCaller,
  type NamesOfActors,
} from '@sealgate/admin-api';
import { named, type Route } from '@sealgate/http';
import type { TableList } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { CaseFilter, StatusCount } from '../data/case-reads.ts';
import type { CaseFile, PackPorts } from '../domain/assessor-pack.ts';
import { hasEnded, noCase, settledCase, type CaseReadPorts } from '../domain/case-lifetime.ts';
import {
  CaseReference,
  CaseRow,
  RecordedDecision,
  RecordedSeal,
  TimelineEntry,
  type CaseRecord,
  type TimelineEvent,
} from '../domain/case-record.ts';
import { CASE_STATUSES, CaseStatus } from '../domain/case-states.ts';
import { answerOf, CaseId, Flag, OrNull, SubjectRef, Text, Time } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery, ofEnvironment, type AdminPorts } from './admin-base.ts';

const CaseDetail = named(
  'CaseDetail',
  Type.Object({
    ...CaseRow.properties,
    metadata: Type.Record(Text, Text),
    attachments: Type.Array(CaseReference),
    decisions: Type.Array(RecordedDecision, { description: 'Oldest first.' }),
    seals: Type.Array(RecordedSeal),
    names: ActorNames,
  }),
);

const filters = {
  ...environmentQuery,
  status: Type.Optional(CaseStatus),
  open: Type.Optional({ ...Flag, description: 'Only cases that wait for a decision, or only others.' }),
  subject_ref: Type.Optional({ ...SubjectRef, description: 'Only about this subject.' }),
  created_from: timeFilter,
  created_to: timeFilter,
};

const Counts = named(
  'CaseCounts',
  Type.Object({
    states: Type.Array(
      named('CaseCount', Type.Object({ status: CaseStatus, count: Type.Integer(), oldest_at: OrNull(Time) })),
    ),
  }),
);

export interface AdminCasesPorts
  extends Pick<AdminPorts, 'cursors' | 'auditChange'>, CaseReadPorts, Pick<PackPorts, 'readCaseFile'> {
  readonly cases: TableList<CaseFilter, CaseRecord, 'created_at' | 'updated_at'>;
  readonly countCases: (environment: string) => Promise<StatusCount[]>;
  readonly actorNames: NamesOfActors;
  readonly countEvents: (caseId: string) => Promise<number>;
  readonly listEvents: (
    caseId: string,
    page: { readonly after: number; readonly limit: number },
  ) => Promise<TimelineEvent[]>;
}

export const ofCase = Type.Object({ case_id: CaseId });

export function adminCaseRoutes(ports: AdminCasesPorts): Route<AdminCaller>[] {
  return [...casesRoutes(ports), countRoute(ports), getRoute(ports), timelineRoute(ports)];
}

function casesRoutes(ports: AdminCasesPorts): Route<AdminCaller>[] {
  return exportedList({
    permit: CASES.read,
    path: '/admin/v1/cases',
    operationId: 'listCases',
    summary: 'List cases, the newest first by default',
    filters,
    defaults: ofEnvironment.defaults,
    search: true,
    sorts: { fields: ['created_at', 'updated_at'], default: '-created_at' },
    name: 'cases',
    boundTo: ['environment', 'status', 'open', 'subject_ref', 'created_from', 'created_to'],
    ...rowsOf(
      () => ports.cases,
      (row: CaseRecord) => rowOf(row, ports.now()),
    ),
    row: CaseRow,
    exported: { resource: 'case', of: 'environment', auditChange: ports.auditChange },
    cursors: ports.cursors,
  });
}

/** A case past its expiry is shown as expired even where the row has not been updated yet. */
function rowOf(record: CaseRecord, nowMs: number): Static<typeof CaseRow> {
  return answerOf(CaseRow, hasEnded(record, nowMs) ? { ...record, status: 'expired' } : record);
}

function countRoute(ports: AdminCasesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    permit: CASES.read,
    method: 'get',
    path: '/admin/v1/case-counts',
    operationId: 'countCases',
    summary: 'Count cases by state, with the age of the oldest',
    query: EnvironmentQuery,
    responses: { 200: { description: 'Every state, including empty ones.', schema: Counts } },
    errors: [],
    async handler({ query }) {
      const rows = await ports.countCases(environmentOf({}, query));
      const states = CASE_STATUSES.map((status) => {
        const row = rows.find((one) => one.status === status);
        return { status, count: row?.count ?? 0, oldest_at: row?.oldestAt?.toISOString() ?? null };
      });
      return { status: 200, body: { states } satisfies Static<typeof Counts> };
    },
  });
}

function getRoute(ports: AdminCasesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    permit: CASES.read,
    method: 'get',
    path: '/admin/v1/cases/:case_id',
    operationId: 'getCase',
    summary: 'Read a case with its references, decisions and seals; no vault data',
    params: ofCase,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The case.', schema: CaseDetail } },
    errors: ['NOT_FOUND'],
    async handler({ params: { case_id: caseId }, query }) {
      const environment = environmentOf({}, query);
      await settledCase(ports, environment, caseId);
      const file = await ports.readCaseFile(environment, caseId);
      if (file === undefined) throw noCase();
      const names = await ports.actorNames(actorsIn(file));
      return { status: 200, body: { ...detailOf(file, ports.now()), names } };
    },
  });
}

const actorsIn = ({ timeline, decisions }: CaseFile): string[] => [
  ...new Set([...timeline.map(({ actor }) => actor), ...decisions.map(({ decided_by: by }) => by)]),
];

function detailOf(
  { record, attachments, decisions, seals }: CaseFile,
  nowMs: number,
): Omit<Static<typeof CaseDetail>, 'names'> {
  return {
    ...rowOf(record, nowMs),
    metadata: record.metadata,
    attachments: attachments.map((each) => answerOf(CaseReference, each)),
    decisions: decisions.map((each) => answerOf(RecordedDecision, each)),
    seals: seals.map((each) => answerOf(RecordedSeal, each)),
  };
}

function timelineRoute(ports: AdminCasesPorts): Route<AdminCaller> {
  return listRoute({
    permit: CASES.read,
    path: '/admin/v1/cases/:case_id/timeline',
    operationId: 'listCaseTimeline',
    summary: 'List the events of a case, oldest first; each contains the hash of the previous one',
    params: ofCase,
    ...ofEnvironment,
    errors: ['NOT_FOUND'],
    name: 'timeline',
    boundTo: ['environment', 'case_id'],
    async holder({ environment, case_id: caseId }) {
      if ((await ports.readCase(environment, caseId)) === undefined) throw noCase();
    },
    count: ({ case_id: caseId }) => ports.countEvents(caseId),
    rows: ({ case_id: caseId, limit, after = 0 }) => ports.listEvents(caseId, { after, limit }),
    positionOf: ({ seq }: TimelineEvent) => seq,
    row: TimelineEntry,
    actors: { of: ({ actor }: TimelineEvent) => actor, names: ports.actorNames },
    cursors: ports.cursors,
  });
}
