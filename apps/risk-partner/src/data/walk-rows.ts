import type { Sql } from '@sealgate/storage';
import type { Place } from '../domain/resource-ports.ts';
import { rowCondition } from './row-condition.ts';
import { settled } from './row-filters.ts';
import { SORT_COLUMNS, stretchesAfter, type Stretch } from './row-order.ts';
import {
  columnsFor,
  CONDITION_COLUMNS,
  placesOf,
  wantedCondition,
  wantsAll,
  type PageWanted,
  type StoredRow,
  type Wanted,
} from './wanted-rows.ts';

/**
 * The page in the order of an index, one stretch after the other. With `rows`, it is given up after so many rows of a
 * stretch that do not make the page full.
 */
export async function walk(
  sql: Sql,
  wanted: Wanted,
  { sorting, after, limit }: PageWanted,
  rows?: number,
): Promise<{ rows: Place[]; isGivenUp: boolean }> {
  const found: Place[] = [];
  for (const stretch of stretchesAfter(sorting, after)) {
    if (found.length === limit) break;
    const values: unknown[] = [];
    const text = walkText(wanted, { sorting, stretch, rows, limit: limit - found.length }, values);
    found.push(...placesOf(await sql.query<StoredRow>({ text, values })));
    if (wantsAll(wanted) || rows === undefined || found.length === limit) continue;
    if ((await countStretch(sql, wanted, { sorting, stretch, rows })) === rows) return { rows: found, isGivenUp: true };
  }
  return { rows: found, isGivenUp: false };
}

interface Walk extends Pick<PageWanted, 'sorting'> {
  readonly stretch: Stretch;
  readonly rows: number | undefined;
}

function walkText(wanted: Wanted, { limit, ...walked }: Walk & Pick<PageWanted, 'limit'>, values: unknown[]): string {
  const { stretch, rows } = walked;
  const ordered = (columns: readonly string[]) => {
    const rowsOfIt = stretchText(wanted, walked, { columns, values });
    return `${rowsOfIt} ORDER BY ${stretch.order('r')}`;
  };
  if (wantsAll(wanted)) return `${ordered(['id', 'value'])} LIMIT $${values.push(limit)}`;
  const few = rows === undefined ? '' : `LIMIT ${rows}`;
  return `SELECT r.id, r.value FROM (${ordered([...CONDITION_COLUMNS, 'value'])} ${few}) r
    WHERE ${wantedCondition(wanted, values)} ORDER BY ${stretch.order('r')} LIMIT $${values.push(limit)}`;
}

/** How many rows a walk of the stretch reads, `rows` at most. */
async function countStretch(sql: Sql, wanted: Wanted, walked: Walk): Promise<number> {
  const values: unknown[] = [];
  const stretch = stretchText(wanted, walked, { columns: ['id'], values });
  const text = `SELECT count(*)::integer AS counted FROM (${stretch} ORDER BY ${walked.stretch.order('r')} LIMIT ${walked.rows}) r`;
  return (await sql.query<{ counted: number }>({ text, values }))[0]!.counted;
}

function stretchText(
  wanted: Wanted,
  { sorting, stretch }: Walk,
  { columns, values }: { readonly columns: readonly string[]; readonly values: unknown[] },
): string {
  const { column } = SORT_COLUMNS[sorting.field];
  const ofOrg = rowCondition('r', wanted.scope, values, false);
  const from = columnsFor(column)
    .map((name) => `w.${name}`)
    .join(', ');
  const conditions = [
    `r.kind = '${wanted.kind}'`,
    ofOrg,
    stretch.condition('r', values),
    ...settled(wanted, sorting.field, values),
  ];
  return `SELECT ${columns.map((name) => `r.${name}`).join(', ')}
    FROM (SELECT ${from}, w.${column} AS value FROM risk.resources w) r WHERE ${conditions.join(' AND ')}`;
}
