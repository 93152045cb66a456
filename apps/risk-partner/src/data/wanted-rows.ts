import { searchOf, type Sorting } from '@sealgate/paging';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { KindName, SortField } from '../domain/resource.ts';
import type { Place } from '../domain/resource-ports.ts';
import { rowCondition } from './row-condition.ts';
import { filterConditions } from './row-filters.ts';

// What a list asks for, and the condition that every row of it passes, whatever way it is found.

/** What a list asks for. */
export interface Wanted {
  readonly kind: KindName;
  readonly scope: RowScope;
  /** By name: those of the partner lists, and `ownerId`. */
  readonly filters: Readonly<Record<string, string>>;
  readonly q: string | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface PageWanted {
  readonly sorting: Sorting<SortField>;
  readonly after: Place | undefined;
  readonly limit: number;
}

export interface StoredRow {
  readonly id: string;
  readonly value: string | number | Date | null;
}

export const placesOf = (rows: readonly StoredRow[]): Place[] =>
  rows.map(({ id, value }) => ({ id, value: value instanceof Date ? value.toISOString() : value }));

/** Whether every row of the kind is wanted, so that nothing has to be found. */
export const wantsAll = ({ kind, scope, filters, q = '' }: Wanted): boolean =>
  Object.keys(filters).length === 0 &&
  searchOf(q).words.length === 0 &&
  (!KIND_OF[kind].rowFiltered || (scope.unrestricted && scope.canReadSensitive));

/** The condition for each wanted row `r`; appends its parameters to `values`. */
export function wantedCondition({ kind, scope, filters, q = '', nowMs }: Wanted, values: unknown[]): string {
  const { patterns } = searchOf(q);
  return [
    `r.kind = '${kind}'`,
    rowCondition('r', scope, values, KIND_OF[kind].rowFiltered),
    ...filterConditions(filters, values, nowMs),
    ...(patterns.length === 0 ? [] : [`r.folded LIKE ALL ($${values.push(patterns)}::text[])`]),
  ].join(' AND ');
}

/** What these conditions look at. */
export const CONDITION_COLUMNS = [
  ...['org_id', 'kind', 'id', 'owner_id', 'department', 'sensitive'],
  ...['facets', 'folded', 'updated_at', 'valid_until', 'created_at', 'score', 'lower_until'],
];

export const columnsFor = (column: string): string[] => [...new Set([...CONDITION_COLUMNS, column])];
