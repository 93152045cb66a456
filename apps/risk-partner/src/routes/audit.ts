import { auditProblem } from '@sealgate/admin-api';
import { listQuery, named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { AuditReads } from '../domain/resource-ports.ts';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import type { Cursors } from '../domain/read-partner.ts';
import { Text, Time } from '../schemas.ts';
import { barePage, barePageOf } from './bare-page.ts';

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

export function auditRoutes({
  audit,
  cursors,
}: {
  readonly audit: AuditReads;
  readonly cursors: Cursors;
}): Route<RiskCaller>[] {
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
    query: listQuery(LIST_RANGE, {}),
    responses: barePageOf(AuditRow),
    errors: [],
    async handler({ caller, query }) {
      const binding = ['audit.v1', caller.orgId, caller.personId];
      const page = barePage(cursors, { path: PATH, binding, query, range: LIST_RANGE });
      const from = page.after as [string, string] | undefined; // As `position` below makes it.
      const before = from && { position: from[0], id: from[1] };
      const found = await audit.list(rowScopeOf(caller), { limit: page.take, before });
      const { rows, next } = page.answer(found, ({ event, position }) => [position, event.id]);
      return { status: 200, body: rows.map(({ event }) => event), ...next };
    },
  });
  return [list];
}
