import { instantOf } from '@sealgate/json';
import { COUNT_LIMIT } from '@sealgate/paging';
import type { Sql, Statement } from '@sealgate/storage';
import type { SortField } from '../domain/resource.ts';
import { rowCondition } from './row-condition.ts';
import { VALIDITY } from './row-filters.ts';
import { SORT_COLUMNS } from './row-order.ts';
import { mayBeWorse } from './score-changes.ts';
import { columnsFor, wantedCondition, type Wanted } from './wanted-rows.ts';

/** A range of so many rows is not read to be counted. */
const RANGE_ROWS = 50_000;

/** A range of times that few rows may be in. */
interface Range {
  readonly column: string;
  /** As RANGE_ROWS. */
  readonly rows: number;
  condition(values: unknown[]): string;
}

export function rangesOf({ kind, filters: { updatedSince, worseSince, state }, nowMs }: Wanted): Range[] {
  const ranges: Range[] = [];
  if (updatedSince !== undefined) {
    const since = (values: unknown[]) => `r.updated_at >= $${values.push(instantOf(updatedSince))}::timestamptz`;
    ranges.push({ column: 'updated_at', rows: RANGE_ROWS, condition: since });
  }
  if (worseSince !== undefined) {
    const lower = (values: unknown[]) => mayBeWorse(instantOf(worseSince), values);
    // Of each its change is looked up.
    ranges.push({ column: 'lower_until', rows: RANGE_ROWS / 2, condition: lower });
  }
  if (kind === 'evidence' && (state === 'expiring' || state === 'expired')) {
    const valid = (values: unknown[]) => VALIDITY[state](`$${values.push(new Date(nowMs))}::timestamptz`);
    ranges.push({ column: 'valid_until', rows: RANGE_ROWS, condition: valid });
  }
  return ranges;
}

/** A range that few rows are in, if there is one; or whether so many of one are wanted that they need no counting. */
export async function judgedRanges(
  sql: Sql,
  wanted: Wanted,
): Promise<{ readonly narrow?: Range; readonly areMany?: boolean }> {
  for (const range of rangesOf(wanted)) {
    const values: unknown[] = [];
    const text = `SELECT count(*)::integer AS counted FROM (${rangeText(wanted, range, { columns: ['id'], values })}) r`;
    const [row] = await sql.query<{ counted: number }>({ text, values });
    if (row!.counted < range.rows) return { narrow: range };
    const [wide] = await sql.query<{ counted: number }>(countWithin(wanted, range));
    if (wide!.counted === COUNT_LIMIT) return { areMany: true };
  }
  return {};
}

function countWithin(wanted: Wanted, range: Range): Statement {
  const values: unknown[] = [];
  const found = withinRange(wanted, range, { field: 'createdAt', values });
  return { text: `SELECT count(*)::integer AS counted FROM (${found} LIMIT ${COUNT_LIMIT}) f`, values };
}

/** The first rows of a range, in its order, so that PostgreSQL uses the index of its column. */
function rangeText(
  { kind, scope }: Wanted,
  { column, rows, condition }: Range,
  { columns, values }: { readonly columns: readonly string[]; readonly values: unknown[] },
): string {
  const ofOrg = rowCondition('r', scope, values, false);
  return `SELECT ${columns.map((name) => `r.${name}`).join(', ')} FROM risk.resources r
    WHERE r.kind = '${kind}' AND ${ofOrg} AND ${condition(values)} ORDER BY r.${column}, r.id LIMIT ${rows}`;
}

/** The wanted rows among the first of a range, as `foundText` has them. */
export function withinRange(
  wanted: Wanted,
  range: Range,
  { field, values }: { readonly field: SortField; readonly values: unknown[] },
): string {
  const { column } = SORT_COLUMNS[field];
  const rows = rangeText(wanted, range, { columns: columnsFor(column), values });
  return `SELECT r.id, r.${column} AS value FROM (${rows}) r WHERE ${wantedCondition(wanted, values)}`;
}

/** The wanted rows among all of a wide range, as `foundText` has them. */
export function wideText(wanted: Wanted, range: Range, field: SortField, values: unknown[]): string {
  const { column } = SORT_COLUMNS[field];
  const ofOrg = rowCondition('r', wanted.scope, values, false);
  // OFFSET 0 keeps PostgreSQL from walking the order of the list instead.
  return `SELECT r.id, r.${column} AS value FROM (
      SELECT ${columnsFor(column)
        .map((name) => `r.${name}`)
        .join(', ')} FROM risk.resources r
       WHERE r.kind = '${wanted.kind}' AND ${ofOrg} AND ${range.condition(values)} OFFSET 0) r
    WHERE ${wantedCondition(wanted, values)}`;
}
