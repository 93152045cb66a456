import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { Doc, KindName } from '../domain/resource.ts';
import type { ResourceReads, Row, RowPage } from '../domain/resource-ports.ts';
import { filterConditions } from './partner-resources.ts';
import { prepared, rowCondition } from './row-condition.ts';

interface StoredRow {
  n: number;
  doc: string;
}

/** Reads of stored documents for the dashboard. */
export function resourceReads(sql: Sql): ResourceReads {
  return {
    list: (kind, scope, page) => listRows(sql, kind, scope, page),
    find: (kind, id, scope) => findRow(sql, { kind, id, scope, lock: false }),
    visible: (kind, ids, scope) => visibleIds(sql, { kind, ids, scope }),
  };
}

async function listRows(
  sql: Sql,
  kind: KindName,
  scope: RowScope,
  { limit, after, filters, nowMs }: RowPage,
): Promise<Row[]> {
  const values: unknown[] = [kind, limit];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const behind =
    after === undefined
      ? ''
      : `AND (r.created_at, r.id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
  const { ownerId, ...named } = filters;
  const asked = filterConditions(named, values, nowMs);
  if (ownerId !== undefined) asked.push(`r.owner_id = $${values.push(ownerId)}::text`);
  const text = `SELECT r.n, r.doc FROM risk.resources r WHERE ${['r.kind = $1', condition, ...asked].join(' AND ')} ${behind}
    ORDER BY r.created_at, r.id LIMIT $2`;
  return (await sql.query<StoredRow>(prepared(text, values))).map(rowOf);
}

export interface FindQuery {
  readonly kind: KindName;
  readonly id: string;
  readonly scope: RowScope;
  /** Locks the row until the transaction ends. */
  readonly lock: boolean;
}

export async function findRow(sql: Sql, { kind, id, scope, lock }: FindQuery): Promise<Row | undefined> {
  const values: unknown[] = [kind, id];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const text = `SELECT r.n, r.doc FROM risk.resources r WHERE r.kind = $1 AND r.id = $2 AND ${condition}
    ${lock ? 'FOR UPDATE' : ''}`;
  const [row] = await sql.query<StoredRow>(prepared(text, values));
  return row && rowOf(row);
}

export async function visibleIds(
  sql: Sql,
  { kind, ids, scope }: { kind: KindName; ids: readonly string[]; scope: RowScope },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const values: unknown[] = [kind, ids];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const text = `SELECT r.id FROM risk.resources r WHERE r.kind = $1 AND r.id = ANY ($2) AND ${condition}`;
  return new Set((await sql.query<{ id: string }>(prepared(text, values))).map(({ id }) => id));
}

/** The document was written by `resourceWrites` and has the type of its kind. */
export const rowOf = ({ n, doc }: StoredRow): Row => ({ n, doc: JSON.parse(doc) as Doc });
