import type { JsonValue } from '@sealgate/json';
import { parseLimit, type CursorCodec } from '@sealgate/paging';
import { ADMIN_LIST_RANGE } from './admin-app.ts';

/** One page of an admin list, as its query asks for it. */
export interface Page {
  /** How many items it may hold. Ask the store for one more, to learn whether there is a next page. */
  readonly limit: number;
  /** The position the page begins after; undefined on the first one. */
  readonly after: JsonValue | undefined;
  /** Cuts `limit + 1` rows to the page, and makes the cursor of the next one from the last row that is shown. */
  answer<Row>(
    rows: readonly Row[],
    show: { readonly item: (row: Row) => object; readonly position: (row: Row) => JsonValue },
  ): { items: object[]; nextCursor: string | null };
}

/**
 * Reads `limit` and `cursor` of an admin list. The binding names the list and its filters: a cursor of another is refused.
 * @throws AppError INVALID_LIMIT, INVALID_CURSOR.
 */
export function readPage(
  query: { readonly limit?: string; readonly cursor?: string },
  cursors: CursorCodec,
  binding: readonly string[],
): Page {
  const limit = parseLimit(query.limit, ADMIN_LIST_RANGE);
  return {
    limit,
    after: query.cursor === undefined ? undefined : cursors.read(binding, query.cursor),
    answer: (rows, { item, position }) => {
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const nextCursor = rows.length > limit && last !== undefined ? cursors.make(binding, position(last)) : null;
      return { items: shown.map(item), nextCursor };
    },
  };
}
