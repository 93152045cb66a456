import { isFound, sortingOf } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { itemAt, withEvidenceCount, withoutPersonalData, type OnMasked } from '../domain/partner-item.ts';
import { mayHoldPersonalData, SCREENING_RULES } from '../domain/may-hold-personal-data.ts';
import {
  MAX_PAGE_ITEMS,
  type PartnerItem,
  type PartnerItems,
  type PartnerJoinedQuery,
  type PartnerListQuery,
  type PartnerSource,
} from '../domain/read-partner.ts';
import type { KindName } from '../domain/resource.ts';
import type { Place, Position } from '../domain/resource-ports.ts';
import { isSameCaller } from './callers-store.ts';
import { uncountedPage } from './find-rows.ts';
import { countCondition, prepared, rowCondition } from './row-condition.ts';
import { VALIDITY } from './row-filters.ts';

export interface PartnerSourceOptions {
  readonly sql: Sql;
  readonly onMasked: OnMasked;
}

interface ItemRow {
  id: string;
  created_at: Date;
  item: string;
  is_screened: boolean;
  is_steady: boolean;
}

/** The items of a page and the one after it, joined. */
interface JoinedRow {
  found: number;
  /** Null if there are no rows. */
  items: string | null;
  is_screened: boolean | null;
  is_steady: boolean | null;
  is_confirmed: boolean;
}

/** Items of one resource kind: an index range scan over texts that were made at write time. */
export function partnerResources(kind: KindName, options: PartnerSourceOptions): PartnerSource {
  const { sql } = options;
  const show = async (scope: RowScope, nowMs: number, [text, values]: [string, unknown[]]): Promise<PartnerItem[]> =>
    shown(kind, await sql.query<ItemRow>(prepared(text, values)), { ...options, scope, nowMs });
  const page = async (scope: RowScope, query: PartnerListQuery): Promise<PartnerItem[]> => {
    const values: unknown[] = [];
    const { text, places } = await pageRows(kind, { sql, scope, query, values });
    const items = await show(scope, query.nowMs, [text, values]);
    // A row was removed since it was found: the page is made again, as one row less would say that it is the last.
    return places !== undefined && items.length < places.length ? page(scope, query) : items;
  };
  const list: PartnerSource['list'] = async (scope, query) => {
    const { q, limit } = query;
    if (q === undefined) return page(scope, query);
    const found: PartnerItem[] = [];
    for (let after = query.after; ;) {
      const items = await page(scope, { ...query, after });
      // A text that is masked must not be found by its words.
      found.push(...items.filter((item) => isFound(q, textsIn(item))));
      after = items.at(-1);
      if (found.length >= limit || items.length < limit) return found.slice(0, limit);
    }
  };
  const find: PartnerSource['find'] = async (scope, id, { nowMs }) => {
    const values: unknown[] = [kind, id];
    const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
    const text = `SELECT ${itemColumns(kind, values, nowMs)} FROM risk.resources r
       WHERE r.kind = $1 AND r.id = $2 AND ${condition}`;
    return (await show(scope, nowMs, [text, values]))[0];
  };
  // Items of controls depend on other rows, so each is completed at read time.
  if (kind === 'control') return { list, find };
  return { list, find, listJoined: (scope, query) => readJoined(kind, scope, { sql, query }) };
}

/**
 * The columns of `ItemRow`. An item is steady if it is shown as stored: whether evidence is approved, expiring or
 * expired, and whether an acceptance has run out, depends on the time of reading.
 */
function itemColumns(kind: KindName, values: unknown[], nowMs: number): string {
  const now = () => `$${values.push(new Date(nowMs))}::timestamptz`;
  const isSteady =
    kind === 'evidence'
      ? VALIDITY.approved(now())
      : kind === 'risk'
        ? `(r.valid_until IS NULL OR r.valid_until > ${now()})`
        : 'true';
  const isScreened = `r.screened_by IS NOT DISTINCT FROM $${values.push(SCREENING_RULES)}::smallint`;
  return `r.id, r.created_at, r.item, ${isScreened} AS is_screened, ${isSteady} AS is_steady`;
}

/** The rows of a page: a statement for them, and what follows. */
interface PageRows {
  readonly text: string;
  /** How many rows there are; undefined: the statement tells, with one more than the page. */
  readonly places: readonly Place[] | undefined;
}

/**
 * The statement for the rows after a position, in order. Without filters, the constant inner LIMIT never removes a row:
 * it tells PostgreSQL how few rows are wanted whatever the parameter is, so that it uses a generic plan instead of
 * planning each time. With filters the rows are found first.
 */
async function pageRows(
  kind: KindName,
  { sql, scope, query, values }: { sql: Sql; scope: RowScope; query: PartnerListQuery; values: unknown[] },
): Promise<PageRows> {
  const { filters, q, limit, after, nowMs } = query;
  const condition = () =>
    `r.kind = $${values.push(kind)} AND ${rowCondition('r', scope, values, KIND_OF[kind].rowFiltered)}`;
  if (Object.keys(filters).length > 0 || q !== undefined || !seesNearlyAll(kind, scope)) {
    const page = { sorting, limit, after: after && { value: after.createdAt, id: after.id } };
    const places = await uncountedPage(sql, { kind, scope, filters, q, nowMs }, page);
    const text = `SELECT ${itemColumns(kind, values, nowMs)} FROM risk.resources r
       WHERE ${condition()} AND r.id = ANY ($${values.push(places.map(({ id }) => id))}::text[]) ORDER BY r.created_at, r.id`;
    return { text, places };
  }
  const behind =
    after === undefined
      ? ''
      : `AND (r.created_at, r.id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
  const ordered = `SELECT ${itemColumns(kind, values, nowMs)} FROM risk.resources r
     WHERE ${condition()} ${behind} ORDER BY r.created_at, r.id`;
  const text = `SELECT * FROM (${ordered} LIMIT ${MAX_PAGE_ITEMS + 1}) r LIMIT $${values.push(limit)}`;
  return { text, places: undefined };
}

const sorting = sortingOf<'createdAt'>('createdAt');

/** Whether nearly every row of the organisation is one that the caller may see. */
const seesNearlyAll = (kind: KindName, { unrestricted, canReadSensitive, ownerId }: RowScope): boolean =>
  !KIND_OF[kind].rowFiltered || (unrestricted && (canReadSensitive || ownerId === null));

/** Never occurs in canonical JSON, where it is escaped. */
const SEPARATOR = '\n';

/**
 * A page as one row: items that are shown as stored are one text from the database to the caller. Undefined if items
 * must be handled one by one, because one may hold personal data or is not shown as stored.
 */
async function readJoined(
  kind: KindName,
  scope: RowScope,
  { sql, query }: Pick<PartnerSourceOptions, 'sql'> & { readonly query: PartnerJoinedQuery },
): Promise<PartnerItems | undefined> {
  const { limit, confirming, nowMs } = query;
  const values: unknown[] = [SEPARATOR];
  const { text: rows, places } = await pageRows(kind, { sql, scope, query: { ...query, limit: limit + 1 }, values });
  const isConfirmed = confirming === undefined ? 'false' : isSameCaller(confirming, values, nowMs);
  // The aggregate receives the rows in the order of the subquery.
  const text = `SELECT count(*)::integer AS found, string_agg(item, $1::text) AS items,
      bool_and(is_screened) AS is_screened, bool_and(is_steady) AS is_steady, ${isConfirmed} AS is_confirmed FROM (${rows}) r`;
  const [row] = await sql.query<JoinedRow>(prepared(text, values));
  const { found, items, is_screened: isScreened, is_steady: isSteady, is_confirmed: confirmed } = row!;
  // A row was removed since it was found.
  if (places !== undefined && found < places.length) return undefined;
  if (items === null) return { texts: [], count: 0, continuesAfter: undefined, isConfirmed: confirmed };
  if (isSteady !== true) return undefined;
  const hasMore = found > limit;
  const shown = hasMore ? items.slice(0, items.lastIndexOf(SEPARATOR)) : items;
  const joined = shown.replaceAll(SEPARATOR, ',');
  if (isScreened !== true && mayHoldPersonalData(joined)) return undefined;
  return {
    texts: [joined],
    count: Math.min(found, limit),
    isConfirmed: confirmed,
    continuesAfter: hasMore ? positionOf(shown.slice(shown.lastIndexOf(SEPARATOR) + 1)) : undefined,
  };
}

/** What a search finds an item by, as it is shown. */
function textsIn({ id, text }: PartnerItem): (string | null | undefined)[] {
  const { refId, title, name } = JSON.parse(text) as Readonly<Record<string, string | null>>;
  return [id, refId, title ?? name];
}

/** The position of an item, which every item shows. */
function positionOf(item: string): Position {
  const { createdAt, id } = JSON.parse(item) as Position;
  return { createdAt, id };
}

async function shown(
  kind: KindName,
  rows: readonly ItemRow[],
  { sql, onMasked, scope, nowMs }: PartnerSourceOptions & { readonly scope: RowScope; readonly nowMs: number },
): Promise<PartnerItem[]> {
  const counts = kind === 'control' ? await evidenceCounts(sql, scope, rows) : undefined;
  return rows.map(({ id, created_at: createdAt, item, is_screened: isScreened, is_steady: isSteady }) => {
    const clean = isScreened ? item : withoutPersonalData(KIND_OF[kind].collection, item, onMasked);
    const fresh = isSteady ? clean : itemAt(kind, clean, nowMs);
    const text = counts === undefined ? fresh : withEvidenceCount(fresh, counts.get(id) ?? 0);
    return { id, createdAt: createdAt.toISOString(), text };
  });
}

/** The number of evidence rows visible to the caller that link to each control. */
async function evidenceCounts(sql: Sql, scope: RowScope, controls: readonly ItemRow[]): Promise<Map<string, number>> {
  const links = controls.map(({ id }) => `link:${id}`);
  if (links.length === 0) return new Map();
  const values: unknown[] = [links];
  const text = `SELECT c.cell, sum(c.rows)::integer AS count FROM risk.row_counts c
     WHERE c.kind = 'evidence' AND c.cell = ANY ($1::text[]) AND ${countCondition('c', scope, values)} GROUP BY c.cell`;
  const rows = await sql.query<{ cell: string; count: number }>(prepared(text, values));
  return new Map(rows.map(({ cell, count }) => [cell.slice('link:'.length), count]));
}
