import { searchOf } from '@sealgate/paging';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { SortField } from '../domain/resource.ts';
import { wantedFacets } from './row-filters.ts';
import { SORT_COLUMNS } from './row-order.ts';
import { columnsFor, wantedCondition, type Wanted } from './wanted-rows.ts';

/** The terms of a row, as its index has them. */
export function termsOf(alias: string): string {
  const names = ['org_id', 'kind', 'id', 'folded', 'facets', 'owner_id', 'department', 'sensitive'];
  return `risk.terms(${names.map((name) => `${alias}.${name}`).join(', ')}) COLLATE "C"`;
}

/** The terms that every wanted row has. */
function wantedTerms({ filters, q = '' }: Wanted): string[] {
  const { ownerId } = filters;
  return [
    ...wantedFacets(filters).map((facet) => `=${facet}`),
    ...(ownerId === undefined ? [] : [`=owner:${ownerId}`]),
    ...searchOf(q).grams,
  ];
}

/** Sets of rows that together are all that the caller may see: rows that have all of `all` and one of `any`. */
function visibleTerms({ kind, scope }: Wanted): { readonly all: string[]; readonly any?: string[] }[] {
  const { ownerId, unrestricted, canReadSensitive, departments } = scope;
  if (!KIND_OF[kind].rowFiltered || (unrestricted && canReadSensitive)) return [{ all: [] }];
  const all = canReadSensitive ? [] : ['=open:'];
  const own = ownerId === null ? [] : [{ all: [`=owner:${ownerId}`] }];
  if (unrestricted) return [{ all }, ...own];
  const any = departments.map((name) => `=department:${name}`);
  return any.length === 0 ? own : [{ all, any }, ...own];
}

/** The parts of a list that `terms` tells apart, from 0. */
const LAST_PART = 3;
/**
 * The same, once the statement has memory for exact bitmaps, until it ends. With less, a bitmap of more than some ten
 * thousand pages of the table names pages in place of rows, and the terms of each row on them are computed again, which
 * takes seconds; in this it names the rows of a million.
 */
const LAST_PART_WITH_MEMORY = `CASE WHEN set_config('work_mem', '64MB', true) <> '' THEN ${LAST_PART} END`;

/** All wanted rows, as `id` and `value`, the value of the field; each once, in no order. */
export function foundText(wanted: Wanted, field: SortField, values: unknown[]): string {
  const { column, type } = SORT_COLUMNS[field];
  const visible = visibleTerms(wanted);
  if (visible.length === 0) return `SELECT NULL::text AS id, NULL::${type} AS value WHERE false`;
  const columns = columnsFor(column);
  const condition = wantedCondition(wanted, values);
  const terms = termsOf('w');
  const part = `'=in:' || $${values.push(wanted.scope.orgId)}::text || '/${wanted.kind}/' || part`;
  const sets = visible.map(({ all, any }, index) => {
    const every = `ARRAY[${part}] || $${values.push([...wantedTerms(wanted), ...all])}::text[]`;
    const some = any === undefined ? '' : `AND ${terms} && $${values.push(any)}::text[]`;
    // A row of the first set is left out of the second.
    const fresh = index === 0 ? 'true' : `NOT (${isShared(wanted.scope, values)})`;
    // OFFSET 0 keeps PostgreSQL from using another index.
    return `SELECT r.id, r.${column} AS value FROM (
        SELECT ${columns.map((name) => `w.${name}`).join(', ')} FROM risk.resources w
         WHERE ${terms} @> (${every}) ${some} OFFSET 0) r
      WHERE ${condition} AND ${fresh}`;
  });
  return `SELECT found.id, found.value
    FROM generate_series(0, ${LAST_PART_WITH_MEMORY}) part CROSS JOIN LATERAL (${sets.join(' UNION ALL ')}) found`;
}

/** What the caller may see without being the owner. */
function isShared({ unrestricted, canReadSensitive, departments }: RowScope, values: unknown[]): string {
  const ofDepartment = () => `coalesce(r.department = ANY ($${values.push(departments)}::text[]), false)`;
  return [...(unrestricted ? [] : [ofDepartment()]), ...(canReadSensitive ? [] : ['NOT r.sensitive'])].join(' AND ');
}
