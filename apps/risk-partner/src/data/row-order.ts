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
  acceptanceExpiresAt: { column: 'valid_until', type: 'timestamptz', mayBeNull: true },
};

/** The order of `id` and `value` of a list: absent values last in both directions, equal ones by id in the same one. */
export function orderText({ field, descending }: Sorting<SortField>, alias: string): string {
  const nullsLast = SORT_COLUMNS[field].mayBeNull ? ' NULLS LAST' : '';
  return descending ? `${alias}.value DESC${nullsLast}, ${alias}.id DESC` : `${alias}.value, ${alias}.id`;
}

/** A stretch of the order: one range of an index. */
export interface Stretch {
  /** On `id` and `value` of an alias; appends its parameters to `values`. */
  condition(alias: string, values: unknown[]): string;
  /** No value is absent, or each is; an index that is read backwards has absent values first. */
  order(alias: string): string;
}

/** The stretches of the order after a place, one after the other. */
export function stretchesAfter({ field, descending }: Sorting<SortField>, after: Place | undefined): Stretch[] {
  const { type, mayBeNull } = SORT_COLUMNS[field];
  const [direction, beyond] = descending ? [' DESC', '<'] : ['', '>'];
  const order: Stretch['order'] = (alias) => `${alias}.value${direction}, ${alias}.id${direction}`;
  const stretch = (condition: Stretch['condition']): Stretch => ({ condition, order });
  const absent = stretch((alias) => `${alias}.value IS NULL`);
  if (after === undefined)
    return mayBeNull ? [stretch((alias) => `${alias}.value IS NOT NULL`), absent] : [stretch(() => 'true')];
  const { id, value } = after;
  if (value === null)
    return [stretch((alias, values) => `${alias}.value IS NULL AND ${alias}.id ${beyond} $${values.push(id)}::text`)];
  const further = stretch(
    (alias, values) =>
      `(${alias}.value, ${alias}.id) ${beyond} ($${values.push(value)}::${type}, $${values.push(id)}::text)`,
  );
  return [further, ...(mayBeNull ? [absent] : [])];
}
