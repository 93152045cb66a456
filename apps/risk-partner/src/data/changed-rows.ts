import { instantOf } from '@sealgate/json';
import { searchOf } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { KIND_OF } from '../domain/kinds.ts';
import type { Place } from '../domain/resource-ports.ts';
import { rowCondition } from './row-condition.ts';
import { walk } from './walk-rows.ts';
import { placesOf, wantedCondition, type PageWanted, type StoredRow, type Wanted } from './wanted-rows.ts';

interface Ways {
  /** The statement for the page out of all rows that another one finds. */
  cut(found: string, page: PageWanted, values: unknown[]): string;
  /** How many rows a walk reads before it is given up. */
  readonly walkedRows: number;
}

/**
 * The page of rows that changed since a time, in the order of their creation. Those that were created since then come last,
 * and almost all of them are wanted: the order is walked from there. When the others were created is in the index of
 * changes. Undefined for another order, or if that walk is given up.
 */
export async function pageOfChanged(
  sql: Sql,
  wanted: Wanted,
  page: PageWanted,
  { cut, walkedRows }: Ways,
): Promise<Place[] | undefined> {
  const { sorting, after, limit } = page;
  const { updatedSince } = wanted.filters;
  if (updatedSince === undefined || sorting.field !== 'createdAt' || sorting.descending) return undefined;
  const start: Place = { value: instantOf(updatedSince).toISOString(), id: '' };
  const isOlder = after === undefined || String(after.value) < String(start.value);
  const values: unknown[] = [];
  const older = isOlder
    ? placesOf(await sql.query<StoredRow>({ text: cut(olderText(wanted, values), page, values), values }))
    : [];
  if (older.length === limit) return older;
  const rest = { sorting, after: isOlder ? start : after, limit: limit - older.length };
  const { rows, isGivenUp } = await walk(sql, wanted, rest, walkedRows);
  return isGivenUp ? undefined : [...older, ...rows];
}

/** The wanted rows that changed since a time and are older, as `id` and `value`, when they were created. */
function olderText(wanted: Wanted, values: unknown[]): string {
  const { kind, scope, filters, q = '' } = wanted;
  const { updatedSince = '', ...others } = filters;
  const since = `$${values.push(instantOf(updatedSince))}::timestamptz`;
  const seen = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  // OFFSET 0 keeps PostgreSQL from walking the order of the list instead. All columns are in the index.
  const told = `SELECT r.org_id, r.kind, r.id, r.created_at AS value FROM risk.resources r
    WHERE r.kind = '${kind}' AND r.updated_at >= ${since} AND r.created_at < ${since} AND ${seen} OFFSET 0`;
  if (Object.keys(others).length === 0 && searchOf(q).words.length === 0) return told;
  return `SELECT o.id, o.value FROM (${told}) o JOIN risk.resources r USING (org_id, kind, id) WHERE ${wantedCondition(wanted, values)}`;
}
