import { AUDIT_COLUMNS, type AuditRow, type AuditTrail } from '@sealgate/audit';
import { allPages, COUNT_LIMIT } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { AuditFilters, AuditReads, ListedEvent } from '../domain/resource-ports.ts';
import { rowCondition } from './row-condition.ts';

/** Row-filtered resources; their events are filtered as well. */
const ROW_FILTERED = ['risk', 'evidence', 'asset'];

/**
 * Events of row `a.resource_id` are visible to callers who may see the row as it is now, or as it was when deleted. A
 * row that became sensitive is hidden from its first event on.
 */
function seenNow(scope: RowScope, values: unknown[]): string {
  const isRow = 'r.org_id = a.org_id AND r.kind = a.resource AND r.id = a.resource_id';
  return `EXISTS (SELECT FROM risk.resources r WHERE ${isRow} AND ${rowCondition('r', scope, values)})
    OR (NOT EXISTS (SELECT FROM risk.resources r WHERE ${isRow}) AND EXISTS (
      SELECT FROM risk.audit_events d WHERE d.resource = a.resource AND d.resource_id = a.resource_id
         AND d.action = a.resource || '.delete' AND ${rowCondition('d', scope, values)}))`;
}

/** The audit events that a caller may read. Statements are planned for their values, which decide the index. */
export function auditEvents(sql: Sql, { read }: Pick<AuditTrail, 'read'>): AuditReads {
  const list = async (scope: RowScope, { limit, before, filters }: Parameters<AuditReads['list']>[1]) => {
    const values: unknown[] = [limit];
    const wanted = condition(scope, filters, values);
    const older =
      before === undefined
        ? ''
        : `AND (a.at, a.id) < ($${values.push(before.position)}::timestamptz, $${values.push(before.id)}::text)`;
    const text = `SELECT ${AUDIT_COLUMNS} FROM risk.audit_events a WHERE ${wanted} ${older}
      ORDER BY a.at DESC, a.id DESC LIMIT $1`;
    return (await sql.query<AuditRow>({ text, values })).map((row): ListedEvent => {
      const { id, at, actor: actorId, action, resource, resourceId, position, problem } = read(row);
      const event = { id, at: at.toISOString(), actorId, action, resource, resourceId };
      return { event: problem === null ? event : { ...event, problem }, position };
    });
  };
  return {
    list,
    // In the order of the list, so that PostgreSQL uses an index however many rows are others'.
    async count(scope, filters) {
      const values: unknown[] = [];
      const text = `SELECT count(*)::integer AS counted FROM (
        SELECT FROM risk.audit_events a WHERE ${condition(scope, filters, values)}
         ORDER BY a.at DESC, a.id DESC LIMIT ${COUNT_LIMIT}) a`;
      return (await sql.query<{ counted: number }>({ text, values }))[0]!.counted;
    },
    pages: (scope, filters) =>
      allPages(
        ({ limit, after }: { readonly limit: number; readonly after: ListedEvent | undefined }) =>
          list(scope, { limit, before: after && { position: after.position, id: after.event.id }, filters }),
        (last) => last,
      ),
  };
}

function condition(scope: RowScope, filters: AuditFilters, values: unknown[]): string {
  const { actorId, action, resource, resourceId, from, to } = filters;
  const conditions = [rowCondition('a', scope, values, false)];
  const add = (text: (parameter: string) => string, value: unknown) =>
    value === undefined || conditions.push(text(`$${values.push(value)}`));
  add((parameter) => `a.actor = ${parameter}::text`, actorId);
  add((parameter) => `a.action = ${parameter}::text`, action);
  add((parameter) => `a.resource = ${parameter}::text`, resource);
  add((parameter) => `a.resource_id = ${parameter}::text`, resourceId);
  add((parameter) => `a.at >= ${parameter}::timestamptz`, from);
  add((parameter) => `a.at < ${parameter}::timestamptz`, to);
  if (!(scope.unrestricted && scope.canReadSensitive))
    conditions.push(`(a.resource <> ALL ($${values.push(ROW_FILTERED)}::text[]) OR ${seenNow(scope, values)})`);
  return conditions.join(' AND ');
}
