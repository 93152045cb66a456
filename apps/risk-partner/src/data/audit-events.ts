import type { Sql } from '@sealgate/storage';
import type { AuditReads } from '../domain/read-audit.ts';
import { prepared } from './prepared.ts';
import { rowCondition } from './row-condition.ts';

interface EventRow {
  id: string;
  at: Date;
  actor: string;
  action: string;
  resource: string;
  resource_id: string;
}

/** Resources whose rows are filtered, and so are the events that tell of them. */
const ROW_FILTERED = ['risk', 'evidence', 'asset'];

export function auditEvents(sql: Sql): AuditReads {
  return {
    async list(scope, { limit, before }) {
      const values: unknown[] = [limit, ROW_FILTERED];
      const ofOrg = rowCondition('a', scope, values, false);
      const seen = rowCondition('a', scope, values);
      const older =
        before === undefined
          ? ''
          : `AND (a.at, a.id) < ($${values.push(before.at)}::timestamptz, $${values.push(before.id)}::text)`;
      const text = `SELECT a.id, a.at, a.actor, a.action, a.resource, a.resource_id FROM risk.audit_events a
        WHERE ${ofOrg} AND (a.resource <> ALL ($2::text[]) OR (${seen})) ${older}
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
