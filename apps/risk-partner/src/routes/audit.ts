import { listQuery, named, routeFor, type Route } from '@sealgate/http';
import { parseLimit } from '@sealgate/paging';
import { Type } from '@sinclair/typebox';
import type { AuditReads } from '../domain/read-audit.ts';
import { rowScopeOf, type RiskCaller } from '../domain/caller.ts';
import type { Cursors } from '../domain/read-partner.ts';
import { Text, Time } from '../schemas.ts';
import { nextLink } from './next-link.ts';

const route = routeFor<RiskCaller>();
const PATH = '/api/audit';
const LIST_RANGE = { default: 50, max: 200 } as const;

const AuditRow = named(
  'AuditEvent',
  Type.Object({ id: Text, at: Time, actorId: Text, action: Text, resource: Text, resourceId: Text }),
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
    path: PATH,
    permit: 'audit:read',
    charge: 1,
    idempotency: 'none',
    tags: ['dashboard'],
    operationId: 'list_audit',
    summary: 'Who did what, newest first',
    query: listQuery(LIST_RANGE, {}),
    responses: {
      200: {
        description: 'A page.',
        schema: Type.Array(AuditRow),
        headers: { Link: 'The next page, where there is one.' },
      },
    },
    errors: [],
    async handler({ caller, query }) {
      const limit = parseLimit(query.limit, LIST_RANGE);
      const binding = ['audit.v1', caller.orgId, caller.personId];
      // A cursor of this binding was made from such a position, below.
      const from = query.cursor === undefined ? undefined : (cursors.read(binding, query.cursor) as [string, string]);
      const before = from && { at: from[0], id: from[1] };
      const found = await audit.list(rowScopeOf(caller), { limit: limit + 1, before });
      const rows = found.slice(0, limit);
      const last = found.length > limit ? rows.at(-1) : undefined;
      const cursor = last && cursors.make(binding, [last.at, last.id]);
      return { status: 200, body: rows, ...nextLink(PATH, { limit: query.limit }, cursor) };
    },
  });
  return [list];
}
