import { auditProblem } from '@sealgate/admin-api';
import { columnsOf, instantText, listQuery, named, routeFor, type Route } from '@sealgate/http';
import { instantOf } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import type { AuditFilters, AuditReads } from '../domain/resource-ports.ts';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import type { Cursors } from '../domain/read-partner.ts';
import { IdText, Text, Time } from '../schemas.ts';
import { barePage, countedPageOf } from './bare-page.ts';
import { exporting, exportQuery, sendExport, type ExportQuery, type RecordExport } from './exports.ts';
import { withPersonNames, type PersonNames } from './person-names.ts';

const route = routeFor<RiskCaller>();
const PATH = '/api/audit';
const LIST_RANGE = { default: 50, max: 200 } as const;

const AuditRow = named(
  'AuditEvent',
  Type.Object({
    id: Text,
    at: Time,
    actorId: Text,
    action: Text,
    resource: Text,
    resourceId: Text,
    problem: Type.Optional(auditProblem),
  }),
);

const optional = (description: string) => Type.Optional({ ...IdText, description });
const FILTERS = {
  actorId: optional('Only events of this person.'),
  action: optional('Only this action: `risk.update`.'),
  resource: optional('Only events of this resource: `risk`.'),
  resourceId: optional('Only events of the row with this id.'),
  from: Type.Optional({ ...instantText(), description: 'Only events at or after this time.' }),
  to: Type.Optional({ ...instantText(), description: 'Only events before this time.' }),
};

interface AuditPorts {
  readonly audit: AuditReads;
  readonly cursors: Cursors;
  readonly recordExport: RecordExport;
  readonly personNames: PersonNames;
}

export function auditRoutes({ audit, cursors, recordExport, personNames }: AuditPorts): Route<RiskCaller>[] {
  const list = route({
    method: 'get',
    looks: true,
    path: PATH,
    permit: 'audit:read',
    charge: 1,
    idempotency: 'none',
    tags: ['dashboard'],
    operationId: 'list_audit',
    summary: 'List audit events, newest first',
    query: listQuery(LIST_RANGE, FILTERS),
    responses: countedPageOf(AuditRow),
    errors: [],
    async handler({ caller, query }) {
      const binding = ['audit.v1', caller.orgId, caller.personId];
      const page = barePage(cursors, { path: PATH, binding, query, range: LIST_RANGE });
      const from = page.after as [string, string] | undefined; // As `position` below makes it.
      const before = from && { position: from[0], id: from[1] };
      const scope = rowScopeOf(caller);
      const filters = filtersOf(page.filters);
      const counted = await audit.count(scope, filters);
      const found = await audit.list(scope, { limit: page.take, before, filters });
      const { rows, next } = page.answer(found, ({ event, position }) => [position, event.id], counted);
      return { status: 200, body: rows.map(({ event }) => event), ...next };
    },
  });
  const all = route({
    ...exporting,
    path: `${PATH}/export`,
    permit: 'audit:read',
    operationId: 'export_audit',
    summary: 'Export audit events, newest first',
    query: exportQuery(FILTERS),
    errors: [],
    async handler(context) {
      const { caller, requestId, method } = context;
      const query = context.query as ExportQuery; // By its schema.
      async function* pages() {
        for await (const events of audit.pages(rowScopeOf(caller), filtersOf(query)))
          yield events.map(({ event }) => event);
      }
      await sendExport(context, {
        fileName: 'audit',
        format: query.format,
        ...withPersonNames({ columns: columnsOf(AuditRow), pages: pages() }, caller, personNames),
        async begin() {
          if (method === 'GET')
            await recordExport({ caller, requestId }, { resource: 'audit', collection: 'audit', query });
        },
      });
    },
  });
  return [list, all];
}

/** The filters of a valid query. */
function filtersOf({ from, to, ...query }: Readonly<Record<string, string>>): AuditFilters {
  const { actorId, action, resource, resourceId } = query;
  return {
    actorId,
    action,
    resource,
    resourceId,
    from: from && instantOf(from),
    to: to && instantOf(to),
  } as AuditFilters;
}
