import { COUNT_LIMIT, searchOf, type Sorting } from '@sealgate/paging';
import { instantOf } from '@sealgate/json';
import type { Sql, Statement } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { KindName, SortField } from '../domain/resource.ts';
import type { Place } from '../domain/resource-ports.ts';
import { filterConditions, VALIDITY, wantedFacets } from './row-filters.ts';
import { rowCondition } from './row-condition.ts';
import { orderText, SORT_COLUMNS, stretchesAfter, type Stretch } from './row-order.ts';

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

/** How many rows a walk reads before it is given up: what fits is then in few places of the order. */
const WALKED_ROWS = 50_000;

/**
 * One page of the wanted rows, and how many there are, COUNT_LIMIT at most.
 *
 * What is wanted is known by terms (the function `terms` of the schema), of which one index tells the rows, or it is a
 * range of times with an index of its own. If few rows are found, the page is cut from exactly those; else an index in the
 * order of the list is walked, in which more than one row in a hundred fits. The condition for every row is the same.
 */
export async function countedPage(
  sql: Sql,
  wanted: Wanted,
  page: PageWanted,
): Promise<{ rows: Place[]; counted: number }> {
  if (wantsAll(wanted)) return { rows: (await walk(sql, wanted, page)).rows, counted: await countAll(sql, wanted) };
  const few = await pageOfFew(sql, wanted, page);
  if (few.counted < COUNT_LIMIT) return few;
  return { rows: await pageOfMany(sql, wanted, page), counted: few.counted };
}

/** How many rows a walk tries before anything is counted. */
const TRIED_ROWS = 2_000;

/** One page of the wanted rows without their number. */
export async function uncountedPage(
  sql: Sql,
  wanted: Wanted,
  page: PageWanted,
  triedRows = TRIED_ROWS,
): Promise<Place[]> {
  const tried = await walk(sql, wanted, page, triedRows);
  if (!tried.isGivenUp) return tried.rows;
  const { rows, counted } = await pageOfFew(sql, wanted, page);
  return counted < COUNT_LIMIT ? rows : pageOfMany(sql, wanted, page);
}

/** One page of the wanted rows, of which there are COUNT_LIMIT at least. */
export async function pageOfMany(
  sql: Sql,
  wanted: Wanted,
  page: PageWanted,
  walkedRows = WALKED_ROWS,
): Promise<Place[]> {
  const { rows, isGivenUp } = await walk(sql, wanted, page, walkedRows);
  if (!isGivenUp) return rows;
  const values: unknown[] = [];
  const { field } = page.sorting;
  const [range] = rangesOf(wanted);
  const found = range === undefined ? foundText(wanted, field, values) : wideText(wanted, range, field, values);
  return rowsOf(await sql.query<StoredRow>({ text: cut(found, page, values), values }));
}

interface StoredRow {
  readonly id: string;
  readonly value: string | number | Date | null;
}

const rowsOf = (rows: readonly StoredRow[]): Place[] =>
  rows.map(({ id, value }) => ({ id, value: value instanceof Date ? value.toISOString() : value }));

/** The page after a place, of a statement for all wanted rows. */
function cut(found: string, { sorting, after, limit }: PageWanted, values: unknown[]): string {
  const behind =
    after === undefined ? [] : stretchesAfter(sorting, after).map(({ condition }) => condition('f', values));
  return `SELECT f.id, f.value FROM (${found}) f WHERE ${behind.length === 0 ? 'true' : `(${behind.join(' OR ')})`}
    ORDER BY ${orderText(sorting, 'f')} LIMIT $${values.push(limit)}`;
}

/** Counts all wanted rows up to COUNT_LIMIT, and cuts the page if that are all of them. */
async function pageOfFew(sql: Sql, wanted: Wanted, page: PageWanted): Promise<{ rows: Place[]; counted: number }> {
  const { field } = page.sorting;
  const ranges = await judgedRanges(sql, wanted);
  if (ranges.areMany) return { rows: [], counted: COUNT_LIMIT };
  const values: unknown[] = [];
  const found =
    ranges.narrow === undefined
      ? foundText(wanted, field, values)
      : withinRange(wanted, ranges.narrow, { field, values });
  const few = `SELECT n.id, n.value FROM found n WHERE (SELECT count(*) FROM found) < ${COUNT_LIMIT}`;
  const text = `WITH found AS MATERIALIZED (SELECT f.id, f.value FROM (${found}) f LIMIT ${COUNT_LIMIT})
    SELECT c.counted, p.id, p.value FROM (SELECT count(*)::integer AS counted FROM found) c
      LEFT JOIN (${cut(few, page, values)}) p ON true ORDER BY ${orderText(page.sorting, 'p')}`;
  const rows = await sql.query<Omit<StoredRow, 'id'> & { id: string | null; counted: number }>({ text, values });
  const named = rows.flatMap(({ id, value }) => (id === null ? [] : [{ id, value }]));
  return { rows: rowsOf(named), counted: rows[0]?.counted ?? 0 };
}

/** Whether every row of the kind is wanted, so that nothing has to be found. */
const wantsAll = ({ kind, scope, filters, q = '' }: Wanted): boolean =>
  Object.keys(filters).length === 0 &&
  searchOf(q).words.length === 0 &&
  (!KIND_OF[kind].rowFiltered || (scope.unrestricted && scope.canReadSensitive));

async function countAll(sql: Sql, { kind, scope }: Wanted): Promise<number> {
  const values: unknown[] = [];
  const ofOrg = rowCondition('r', scope, values, false);
  const text = `SELECT count(*)::integer AS counted FROM (
    SELECT FROM risk.resources r WHERE r.kind = '${kind}' AND ${ofOrg}
     ORDER BY r.created_at, r.id LIMIT ${COUNT_LIMIT}) r`;
  return (await sql.query<{ counted: number }>({ text, values }))[0]!.counted;
}

/**
 * The page in the order of an index, one stretch after the other. With `rows`, it is given up after so many rows of a
 * stretch that do not make the page full.
 */
async function walk(
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
    found.push(...rowsOf(await sql.query<StoredRow>({ text, values })));
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
    ...settled(wanted, sorting, values),
  ];
  return `SELECT ${columns.map((name) => `r.${name}`).join(', ')}
    FROM (SELECT ${from}, w.${column} AS value FROM risk.resources w) r WHERE ${conditions.join(' AND ')}`;
}

const SCORES: Readonly<Record<string, readonly [number, number]>> = {
  low: [1, 4],
  medium: [5, 9],
  high: [10, 16],
  critical: [17, 25],
};

/** Conditions of filters that decide the value of the field, or have it in an index of their own. */
function settled({ kind, filters }: Wanted, { field }: Sorting<SortField>, values: unknown[]): string[] {
  const { state, level } = filters;
  if (field === 'validUntil' && kind === 'evidence' && state !== undefined)
    return [`r.facets[1] = $${values.push(wantedFacets({ state })[0])}::text`];
  const [from, to] = (field === 'currentScore' && SCORES[level ?? '']) || [];
  return from === undefined ? [] : [`r.value BETWEEN ${from} AND ${to}`];
}

/** The condition for each wanted row `r`; appends its parameters to `values`. */
function wantedCondition({ kind, scope, filters, q = '', nowMs }: Wanted, values: unknown[]): string {
  const { patterns } = searchOf(q);
  return [
    `r.kind = '${kind}'`,
    rowCondition('r', scope, values, KIND_OF[kind].rowFiltered),
    ...filterConditions(filters, values, nowMs),
    ...(patterns.length === 0 ? [] : [`r.folded LIKE ALL ($${values.push(patterns)}::text[])`]),
  ].join(' AND ');
}

/** What these conditions look at. */
const CONDITION_COLUMNS = [
  ...['org_id', 'kind', 'id', 'owner_id', 'department', 'sensitive'],
  ...['facets', 'folded', 'updated_at', 'valid_until'],
];

const columnsFor = (column: string): string[] => [...new Set([...CONDITION_COLUMNS, column])];

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

/** A range of times that few rows may be in. */
interface Range {
  readonly column: string;
  condition(values: unknown[]): string;
}

function rangesOf({ kind, filters: { updatedSince, state }, nowMs }: Wanted): Range[] {
  const ranges: Range[] = [];
  if (updatedSince !== undefined) {
    const since = (values: unknown[]) => `r.updated_at >= $${values.push(instantOf(updatedSince))}::timestamptz`;
    ranges.push({ column: 'updated_at', condition: since });
  }
  if (kind === 'evidence' && (state === 'expiring' || state === 'expired')) {
    const valid = (values: unknown[]) => VALIDITY[state](`$${values.push(new Date(nowMs))}::timestamptz`);
    ranges.push({ column: 'valid_until', condition: valid });
  }
  return ranges;
}

/** A range that few rows are in, if there is one; or whether so many of one are wanted that they need no counting. */
async function judgedRanges(
  sql: Sql,
  wanted: Wanted,
): Promise<{ readonly narrow?: Range; readonly areMany?: boolean }> {
  for (const range of rangesOf(wanted)) {
    const values: unknown[] = [];
    const text = `SELECT count(*)::integer AS counted FROM (${rangeText(wanted, range, { columns: ['id'], values })}) r`;
    const [row] = await sql.query<{ counted: number }>({ text, values });
    if (row!.counted < WALKED_ROWS) return { narrow: range };
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
  { column, condition }: Range,
  { columns, values }: { readonly columns: readonly string[]; readonly values: unknown[] },
): string {
  const ofOrg = rowCondition('r', scope, values, false);
  return `SELECT ${columns.map((name) => `r.${name}`).join(', ')} FROM risk.resources r
    WHERE r.kind = '${kind}' AND ${ofOrg} AND ${condition(values)} ORDER BY r.${column}, r.id LIMIT ${WALKED_ROWS}`;
}

/** The wanted rows among the first of a range, as `foundText` has them. */
function withinRange(
  wanted: Wanted,
  range: Range,
  { field, values }: { readonly field: SortField; readonly values: unknown[] },
): string {
  const { column } = SORT_COLUMNS[field];
  const rows = rangeText(wanted, range, { columns: columnsFor(column), values });
  return `SELECT r.id, r.${column} AS value FROM (${rows}) r WHERE ${wantedCondition(wanted, values)}`;
}

/** The wanted rows among all of a wide range, as `foundText` has them. */
function wideText(wanted: Wanted, range: Range, field: SortField, values: unknown[]): string {
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

/** The parts of a list that `terms` tells apart, from 0. */
const LAST_PART = 2;

/** All wanted rows, as `id` and `value`, the value of the field; each once, in no order. */
function foundText(wanted: Wanted, field: SortField, values: unknown[]): string {
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
    FROM generate_series(0, ${LAST_PART}) part CROSS JOIN LATERAL (${sets.join(' UNION ALL ')}) found`;
}

/** What the caller may see without being the owner. */
function isShared({ unrestricted, canReadSensitive, departments }: RowScope, values: unknown[]): string {
  const ofDepartment = () => `coalesce(r.department = ANY ($${values.push(departments)}::text[]), false)`;
  return [...(unrestricted ? [] : [ofDepartment()]), ...(canReadSensitive ? [] : ['NOT r.sensitive'])].join(' AND ');
}
