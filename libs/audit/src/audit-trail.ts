import assert from 'node:assert/strict';
import type { AuditEvent, AuditQuery } from '@sealgate/envelope';
import { canonical, type JsonValue } from '@sealgate/json';
import { migrationSet, type MigrationSet, type Sql } from '@sealgate/storage';

/** An event to record. `detail` is for human readers; it never holds a key, a token or a body. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly requestId?: string;
  readonly detail?: JsonValue;
}

export interface AuditTrail {
  /** Adds an event; in the transaction of the change it is atomic with the change. */
  record(sql: Sql, entry: AuditEntry): Promise<void>;
  /** Newest first, unless `oldestFirst` is set. */
  list(sql: Sql, query: AuditQuery): Promise<AuditEvent[]>;
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * The audit events of one surface. They cannot be changed or removed here, and the database refuses it to every role
 * that cannot alter the table. Statements have the deadlines and errors of `Sql`.
 *
 * `auditMigrations` was run in `schema`; sortable ids keep events of one millisecond in order.
 */
export function auditTrail({
  schema,
  now,
  newId,
}: {
  readonly schema: string;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}): AuditTrail {
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
      const rows = await sql.query<AuditRow>({ text, values: [page.limit, ...values] });
      return rows.map((row) => ({ ...row, detail: detailOf(row) }));
    },
  };
}

/** Parameters start at $2. */
function conditionsOf(page: AuditQuery): { conditions: string[]; values: unknown[] } {
  const { after, from, to } = page;
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value) + 1}`;
  const wanted = [
    ['actor', page.actor],
    ['action', page.action],
    ['resource', page.resource],
    ['resource_id', page.resourceId],
    ['request_id', page.requestId],
  ] as const;
  const conditions = wanted.flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${parameter(value)}`],
  );
  if (from !== undefined) conditions.push(`at >= ${parameter(from)}`);
  if (to !== undefined) conditions.push(`at < ${parameter(to)}`);
  const beyond = page.oldestFirst === true ? '>' : '<';
  if (after !== undefined) conditions.push(`(at, id) ${beyond} (${parameter(after.at)}, ${parameter(after.id)})`);
  return { conditions, values };
}

type AuditRow = Omit<AuditEvent, 'detail'> & { readonly detail: string | null };

function detailOf({ detail }: AuditRow): JsonValue {
  if (detail === null) return null;
  const parsed: JsonValue = JSON.parse(detail); // Written as JSON by `record`.
  return parsed;
}

/** The migrations of the table `audit_events` in the schema of a surface. */
export function auditMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'audit', schema, from: import.meta.url });
}

/** The caller and request, part of the context of an admin route's handler. */
export interface AuditContext {
  readonly caller: { readonly actor: string };
  readonly requestId: string;
}

export interface AuditedChange {
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly detail?: Readonly<Record<string, string>>;
}

/** Writes the audit event of a change, atomically with it in `transaction`. */
export type AuditChange = (context: AuditContext, change: AuditedChange, transaction: Sql) => Promise<void>;

/**
 * The `AuditChange` of a trail. Without a transaction, because the change is not in this database, the event is written
 * to `otherwise`. Deadlines and errors are those of `Sql`.
 */
export function auditChange(trail: Pick<AuditTrail, 'record'>, otherwise: Sql) {
  return (
    { caller, requestId }: AuditContext,
    { detail = {}, ...change }: AuditedChange,
    transaction: Sql = otherwise,
  ): Promise<void> => trail.record(transaction, { ...change, detail: { ...detail }, actor: caller.actor, requestId });
}
