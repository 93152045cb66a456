import assert from 'node:assert/strict';
import { canonical, type JsonValue } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';

/** Who did what to which thing. `detail` is for people; it never holds a key, a token or a body. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId?: string;
  readonly detail?: JsonValue;
}

export interface AuditEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId: string | null;
  readonly detail: JsonValue;
}

/** Filters are exact, and absent ones ask for nothing. `from` is within the time asked for, `to` is not. */
export interface AuditPage extends Partial<Pick<AuditEvent, 'actor' | 'action' | 'resource' | 'resourceId'>> {
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: { readonly at: Date; readonly id: string };
  /** Default: newest first. */
  readonly oldestFirst?: boolean;
  readonly requestId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface AuditTrail {
  /** Adds an event. Given the transaction of the change it tells of, neither is ever there without the other. */
  record(sql: Sql, entry: AuditEntry): Promise<void>;
  /** Newest first, unless the page says otherwise. */
  list(sql: Sql, page: AuditPage): Promise<AuditEvent[]>;
}

export interface AuditTrailOptions {
  /** The schema that `auditMigrations` was run in. */
  readonly schema: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Makes `evt_...` of `evt_`; ids that sort by age keep events of one millisecond in order. */
  readonly newId: (prefix: string) => string;
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * The audit events of one surface. There is no way here to change or remove one, and the database refuses it to
 * everybody who can not alter the table. Statements end as `Sql` says.
 */
export function auditTrail(options: AuditTrailOptions): AuditTrail {
  const { schema, now, newId } = options;
  assert(PLAIN_NAME.test(schema), 'A schema has a plain lower-case name.');
  const table = `${schema}.audit_events`;
  return {
    async record(sql, entry) {
      const { actor, action, resource, resourceId, requestId = null, detail = null } = entry;
      const values = [newId('evt_'), new Date(now()), actor, action, resource, resourceId, requestId];
      await sql.query({
        text: `INSERT INTO ${table} (id, at, actor, action, resource, resource_id, request_id, detail)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [...values, detail === null ? null : canonical(detail)],
      });
    },
    async list(sql, page) {
      const { conditions, values } = conditionsOf(page);
      const order = page.oldestFirst === true ? 'ASC' : 'DESC';
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const text = `SELECT id, at, actor, action, resource, resource_id AS "resourceId", request_id AS "requestId", detail
        FROM ${table} ${where} ORDER BY at ${order}, id ${order} LIMIT $1`;
      const rows = await sql.query<StoredEvent>({ text, values: [page.limit, ...values] });
      return rows.map((row) => ({ ...row, detail: detailOf(row) }));
    },
  };
}

/** Their parameters begin at $2. */
function conditionsOf(page: AuditPage): { conditions: string[]; values: unknown[] } {
  const { after, from, to } = page;
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value) + 1}`;
  const wanted = [
    ['actor', page.actor],
    ['action', page.action],
    ['resource', page.resource],
    ['resource_id', page.resourceId],
    ['request_id', page.requestId],
  ] as const;
  const conditions = wanted.flatMap(([column, value]) => (value === undefined ? [] : [`${column} = ${given(value)}`]));
  if (from !== undefined) conditions.push(`at >= ${given(from)}`);
  if (to !== undefined) conditions.push(`at < ${given(to)}`);
  const beyond = page.oldestFirst === true ? '>' : '<';
  if (after !== undefined) conditions.push(`(at, id) ${beyond} (${given(after.at)}, ${given(after.id)})`);
  return { conditions, values };
}

type StoredEvent = Omit<AuditEvent, 'detail'> & { readonly detail: string | null };

function detailOf({ detail }: StoredEvent): JsonValue {
  if (detail === null) return null;
  const parsed: JsonValue = JSON.parse(detail); // It was written as JSON by `record`.
  return parsed;
}
