import type { Sorting } from '@sealgate/paging';
import type { Place } from '../domain/resource-ports.ts';
import type { SortField } from '../domain/resource.ts';

interface SortColumn {
  readonly column: string;
  readonly type: string;
  readonly mayBeNull?: true;
}

const title = { column: 'title', type: 'text' } as const;
export const SORT_COLUMNS: Readonly<Record<SortField, SortColumn>> = {
  createdAt: { column: 'created_at', type: 'timestamptz' },
  updatedAt: { column: 'updated_at', type: 'timestamptz' },
  refId: { column: 'ref_id', type: 'text', mayBeNull: true },
  title,
  name: title,
  currentScore: { column: 'score', type: 'smallint' },
  nextReviewAt: { column: 'review_at', type: 'timestamptz', mayBeNull: true },
  validUntil: { column: 'valid_until', type: 'timestamptz', mayBeNull: true },
};

/** The order of `id` and `value` of a list: absent values last in both directions, equal ones by id. */
export function orderText(
  { field, descending }: Sorting<SortField>,
  alias: string,
  of: 'page' | 'walk' = 'page',
): string {
  // A stretch of a walk has no value or values alone, and an index that is read backwards has absent values first.
  const nullsLast = SORT_COLUMNS[field].mayBeNull && of === 'page' ? ' NULLS LAST' : '';
  const direction = descending ? ` DESC${nullsLast}` : '';
  return `${alias}.value${direction}, ${alias}.id`;
}

/** A stretch of the order, as a condition on `id` and `value` of an alias; appends its parameters to `values`. */
export type Stretch = (alias: string, values: unknown[]) => string;

/** The stretches of the order after a place, one after the other. Each is one range of an index. */
export function stretchesAfter({ field, descending }: Sorting<SortField>, after: Place | undefined): Stretch[] {
  const { type, mayBeNull } = SORT_COLUMNS[field];
  const absent: Stretch = (alias) => `${alias}.value IS NULL`;
  if (after === undefined) return mayBeNull ? [(alias) => `${alias}.value IS NOT NULL`, absent] : [() => 'true'];
  const { id, value } = after;
  const further = (alias: string, values: unknown[]) => `${alias}.id > $${values.push(id)}::text`;
  if (value === null) return [(alias, values) => `${absent(alias, values)} AND ${further(alias, values)}`];
  const at = (alias: string, compared: string, values: unknown[]) =>
    `${alias}.value ${compared} $${values.push(value)}::${type}`;
  const rising: Stretch = (alias, values) =>
    `(${alias}.value, ${alias}.id) > ($${values.push(value)}::${type}, $${values.push(id)}::text)`;
  const same: Stretch = (alias, values) => `${at(alias, '=', values)} AND ${further(alias, values)}`;
  const lower: Stretch = (alias, values) => at(alias, '<', values);
  return [...(descending ? [same, lower] : [rising]), ...(mayBeNull ? [absent] : [])];
}
