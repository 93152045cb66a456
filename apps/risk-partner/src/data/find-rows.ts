import { allPages, COUNT_LIMIT } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { Place } from '../domain/resource-ports.ts';
import { pageOfChanged } from './changed-rows.ts';
import { rowCondition } from './row-condition.ts';
import { orderText, stretchesAfter } from './row-order.ts';
import { foundText } from './rows-by-term.ts';
import { judgedRanges, rangesOf, wideText, withinRange } from './rows-of-a-range.ts';
import { walk } from './walk-rows.ts';
import { placesOf, wantsAll, type PageWanted, type StoredRow, type Wanted } from './wanted-rows.ts';

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

/** How many rows a walk reads before it is given up: what fits is then in few places of the order. */
const WALKED_ROWS = 20_000;
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
  const changed = await pageOfChanged(sql, wanted, page, { cut, walkedRows });
  if (changed !== undefined) return changed;
  const values: unknown[] = [];
  const { field } = page.sorting;
  const [range] = rangesOf(wanted);
  const found = range === undefined ? foundText(wanted, field, values) : wideText(wanted, range, field, values);
  return placesOf(await sql.query<StoredRow>({ text: cut(found, page, values), values }));
}

/**
 * The places of all wanted rows, in steps between which no connection is held. They are found and counted once: if they are
 * few, all places are remembered; else an index is walked from one step to the next.
 */
export async function* allPlaces(
  sql: Sql,
  wanted: Wanted,
  sorting: PageWanted['sorting'],
): AsyncGenerator<readonly Place[]> {
  const few = wantsAll(wanted)
    ? undefined
    : await pageOfFew(sql, wanted, { sorting, after: undefined, limit: COUNT_LIMIT });
  let read = 0;
  const next = (limit: number): readonly Place[] => few!.rows.slice(read, (read += limit));
  const isFew = few !== undefined && few.counted < COUNT_LIMIT;
  yield* allPages(
    async ({ limit, after }: { readonly limit: number; readonly after: Place | undefined }) =>
      isFew ? next(limit) : pageOfMany(sql, wanted, { sorting, limit, after }),
    (place) => place,
  );
}

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
  return { rows: placesOf(named), counted: rows[0]?.counted ?? 0 };
}

async function countAll(sql: Sql, { kind, scope }: Wanted): Promise<number> {
  const values: unknown[] = [];
  const ofOrg = rowCondition('r', scope, values, false);
  const text = `SELECT count(*)::integer AS counted FROM (
    SELECT FROM risk.resources r WHERE r.kind = '${kind}' AND ${ofOrg}
     ORDER BY r.created_at, r.id LIMIT ${COUNT_LIMIT}) r`;
  return (await sql.query<{ counted: number }>({ text, values }))[0]!.counted;
}
