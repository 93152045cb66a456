import type { JsonValue } from '@sealgate/json';
import { parseLimit, totalOf } from '@sealgate/paging';
import { Type, type TSchema } from '@sinclair/typebox';
import type { Cursors } from '../domain/read-partner.ts';

interface BarePageQuery {
  readonly path: string;
  /** What a cursor is bound to, besides the filters of the query. */
  readonly binding: readonly string[];
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly range: { readonly default: number; readonly max: number };
}

/**
 * One page of a list that answers a bare JSON array, with the next page in the `Link` header (RFC 8288). The link repeats
 * limit, filters, search and order as they were sent; the last page has none.
 * @throws AppError INVALID_LIMIT, INVALID_CURSOR.
 */
export function barePage(cursors: Cursors, { path, binding, query, range }: BarePageQuery) {
  const { limit: sentLimit, cursor, ...sentFilters } = query;
  const filters = sentFilters as Readonly<Record<string, string>>; // A parsed query has no undefined members.
  const limit = parseLimit(sentLimit, range);
  const bound = [...binding, ...Object.entries(filters).flat()];
  return {
    filters,
    /** How many rows to read: one more than the page shows tells whether there is a next page. */
    take: limit + 1,
    /** The position to continue after, as `position` gave it; undefined on the first page. */
    after: cursor === undefined ? undefined : cursors.read(bound, cursor),
    /**
     * The rows of the page, and its headers: `Link`, and where rows are counted, COUNT_LIMIT at most, `X-Total-Count`.
     */
    answer<Row>(found: readonly Row[], position: (row: Row) => JsonValue, counted?: number) {
      const total = counted === undefined ? {} : { 'X-Total-Count': String(totalOf(counted)) };
      const rows = found.slice(0, limit);
      const last = found.length > limit ? rows.at(-1) : undefined;
      if (last === undefined) return { rows, next: { headers: total } };
      const next = { ...(sentLimit !== undefined && { limit: sentLimit }), ...filters };
      const search = new URLSearchParams({ ...next, cursor: cursors.make(bound, position(last)) });
      return { rows, next: { headers: { ...total, Link: `<${path}?${search.toString()}>; rel="next"` } } };
    },
  };
}

/** The OpenAPI responses of a route that answers a bare page. */
export const barePageOf = <Item extends TSchema>(item: Item) => ({
  200: { description: 'A page.', schema: Type.Array(item), headers: link },
});
const link = { Link: 'The next page, if there is one.' };

/** The same for a list that tells how many rows it has. */
export const countedPageOf = <Item extends TSchema>(item: Item) => ({
  200: {
    description: 'A page.',
    schema: Type.Array(item),
    headers: { ...link, 'X-Total-Count': 'How many rows pass the filters: exact up to 10,000, above `10000+`.' },
  },
});
