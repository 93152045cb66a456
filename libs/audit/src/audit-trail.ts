import assert from 'node:assert/strict';
import type { AuditEvent, AuditQuery } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { COUNT_LIMIT } from '@sealgate/paging';
import { migrationSet, type Database, type MigrationSet, type Sql } from '@sealgate/storage';
import { AUDIT_COLUMNS, auditChain, auditSecretUse, type AuditChainOptions, type AuditRow } from './audit-chain.ts';

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
  /** How many events pass the filters of a query, COUNT_LIMIT of `@sealgate/paging` at most. */
  count(sql: Sql, query: Omit<AuditQuery, 'limit' | 'after'>): Promise<number>;
  /** Records the use of a new active secret once, so that an event made with it vouches for all before. */
  vouch(sql: Sql): Promise<void>;
  /** The event of a row that another query selected by `AUDIT_COLUMNS`. Never throws. */
  read(row: AuditRow): AuditEvent;
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * The audit events of one surface. They cannot be changed or removed here, and the database refuses it to every role
 * that cannot alter the table; each is chained and has a MAC, see `auditChain`. Statements have the deadlines and errors
 * of `Sql`.
 *
 * `auditMigrations` was run in `schema`; sortable ids keep events of one millisecond in order.
 */
export function auditTrail({
  now,
  newId,
  ...options
}: AuditChainOptions & {
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}): AuditTrail {
  const { schema } = options;
  assert(PLAIN_NAME.test(schema), 'A schema has a plain lower-case name.');
  const chain = auditChain(options);
  const record: AuditTrail['record'] = (sql, { requestId = null, detail = null, ...entry }) => {
    const content = { ...entry, requestId, detail, id: newId('evt_'), at: new Date(now()) };
    return isDatabase(sql)
      ? sql.transaction((transaction) => chain.append(transaction, content))
      : chain.append(sql, content);
  };
  return {
    record,
    async vouch(sql) {
      const [active = ''] = options.secrets.ids;
      const { text } = auditSecretUse(schema);
      if ((await sql.query({ text, values: [active] })).length === 0) return;
      await record(sql, { actor: 'system', action: 'secret.use', resource: 'server-secret', resourceId: active });
    },
    async list(sql, page) {
      const { conditions, values } = conditionsOf(page);
      const order = page.oldestFirst === true ? 'ASC' : 'DESC';
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const text = `SELECT ${AUDIT_COLUMNS} FROM ${schema}.audit_events a ${where}
        ORDER BY a.at ${order}, a.id ${order} LIMIT $1`;
      const rows = await sql.query<AuditRow>({ text, values: [page.limit, ...values] });
      return rows.map(chain.read);
    },
    async count(sql, query) {
      const { conditions, values } = conditionsOf({ ...query, limit: COUNT_LIMIT });
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const text = `SELECT count(*)::int AS n FROM (SELECT FROM ${schema}.audit_events a ${where} LIMIT $1) counted`;
      return (await sql.query<{ n: number }>({ text, values: [COUNT_LIMIT, ...values] }))[0]?.n ?? 0;
    },
    read: chain.read,
  };
}

const isDatabase = (sql: Sql): sql is Database => 'transaction' in sql;

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
  if (after !== undefined)
    conditions.push(`(a.at, a.id) ${beyond} (${parameter(after.position)}::timestamptz, ${parameter(after.id)})`);
  return { conditions, values };
}

/** The migrations of the table `audit_events` in the schema of a surface. */
export function auditMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'audit', schema, from: import.meta.url });
}

/** The caller and request, part of the context of an admin route's handler. */
interface AuditContext {
  readonly caller: { readonly actor: string };
  readonly requestId: string;
}

interface AuditedChange {
  readonly action: string;
  readonly resource: string;
  readonly resourceId: string;
  readonly detail?: Readonly<Record<string, string | number>> | undefined;
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
