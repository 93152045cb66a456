import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { AuditReads } from '../domain/resource-ports.ts';
import { prepared, rowCondition } from './row-condition.ts';

interface EventRow {
  id: string;
  at: Date;
  actor: string;
  action: string;
  resource: string;
  resource_id: string;
}

/** Row-filtered resources; their events are filtered as well. */
const ROW_FILTERED = ['risk', 'evidence', 'asset'];

/**
 * Events of row `a.resource_id` are visible to callers who may see the row as it is now, or as it was when deleted. A
 * row that became sensitive is hidden from its first event on.
 */
function seenNow(scope: RowScope, values: unknown[]): string {
  if (scope.unrestricted && scope.canReadSensitive) return 'true';
  const isRow = 'r.org_id = a.org_id AND r.kind = a.resource AND r.id = a.resource_id';
  return `EXISTS (SELECT FROM risk.resources r WHERE ${isRow} AND ${rowCondition('r', scope, values)})
    OR (NOT EXISTS (SELECT FROM risk.resources r WHERE ${isRow}) AND EXISTS (
      SELECT FROM risk.audit_events d WHERE d.resource = a.resource AND d.resource_id = a.resource_id
         AND d.action = a.resource || '.delete' AND ${rowCondition('d', scope, values)}))`;
}

export function auditEvents(sql: Sql): AuditReads {
  return {
    async list(scope, { limit, before }) {
      const values: unknown[] = [limit, ROW_FILTERED];
      const ofOrg = rowCondition('a', scope, values, false);
      const seen = `(${seenNow(scope, values)})`;
      const older =
        before === undefined
          ? ''
          : `AND (a.at, a.id) < ($${values.push(before.at)}::timestamptz, $${values.push(before.id)}::text)`;
      const text = `SELECT a.id, a.at, a.actor, a.action, a.resource, a.resource_id FROM risk.audit_events a
        WHERE ${ofOrg} AND (a.resource <> ALL ($2::text[]) OR ${seen}) ${older}
        ORDER BY a.at DESC, a.id DESC LIMIT $1`;
      const rows = await sql.query<EventRow>(prepared(text, values));
      return rows.map(({ id, at, actor: actorId, action, resource, resource_id: resourceId }) => ({
        id,
        at: at.toISOString(),
        actorId,
        action,
        resource,
        resourceId,
      }));
    },
  };
}
