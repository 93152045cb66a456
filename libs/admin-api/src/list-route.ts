import { instantText, listOf, listQuery, type LimitRange, type PathParams, type Route } from '@sealgate/http';
import { instantOf, type JsonValue } from '@sealgate/json';
import { type CursorCodec, parseLimit } from '@sealgate/paging';
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { adminBase, type AdminCaller, adminRoute } from './admin-app.ts';

/** Page sizes of every admin list. */
export const LIST_RANGE: LimitRange = { default: 50, max: 200 };

/** A filter by time: an instant in the query, a Date for `rows`. */
export const timeFilter = Type.Optional(Type.Unsafe<Date>(instantText()));

/** The members of a query for what happened in a period. */
export const periodText = {
  from: Type.Optional({ ...instantText(), description: 'From this time on.' }),
  to: Type.Optional({ ...instantText(), description: 'Before this time.' }),
};

/** Filters for what happened in a period; Dates for `rows`. */
export const period = {
  from: Type.Optional(Type.Unsafe<Date>(periodText.from)),
  to: Type.Optional(Type.Unsafe<Date>(periodText.to)),
};

/** What a request asks a list for, by the names of its path and query: defaults are filled in, times are Dates. */
type Wanted<Path extends string, Filters extends TProperties, Defaulted extends keyof Filters> = PathParams<Path> &
  Static<TObject<Filters>> & { readonly [Name in Defaulted]: Static<Filters[Name]> };

/** A list of the admin listener, as a value. */
interface List<Path extends string, Filters extends TProperties, Defaulted extends keyof Filters, Row, Position> {
  readonly path: Path;
  readonly params?: TObject;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /** Absent: any caller of the admin listener. */
  readonly permit?: string;
  /** Codes besides those of every list. */
  readonly errors?: Route<AdminCaller>['errors'];
  /** Parameters of the query besides `limit` and `cursor`. */
  readonly filters?: Filters;
  /** The values of filters that a request leaves out. */
  readonly defaults?: { readonly [Name in Defaulted]: Static<Filters[Name]> };
  /**
   * Names the list in its cursors, and the parameters that a cursor is bound to, in order: all filters, and those of the
   * path that choose the rows. A cursor is refused where one of them differs.
   */
  readonly name: string;
  readonly boundTo: readonly (keyof PathParams<Path> | keyof Filters)[];
  /** Throws AppError NOT_FOUND where that which has the list does not exist. Precedes the refusal of a cursor. */
  readonly holder?: (wanted: Wanted<Path, Filters, Defaulted>) => Promise<unknown>;
  /** At most `limit` rows that pass the filters, in the order of the list, after the position of a row. */
  readonly rows: (
    wanted: Wanted<Path, Filters, Defaulted> & { readonly limit: number; readonly after: Position | undefined },
  ) => Promise<readonly Row[]>;
  /** The place of a row in that order, as a cursor holds it. */
  readonly positionOf: (row: Row) => Position;
  /** Describes an answer; by default, `A page.` */
  readonly page?: string;
  /** The schema of a row as it is shown. */
  readonly row: TSchema;
  /** Absent: a row is shown as it is. */
  readonly rowOf?: (row: Row) => object;
  readonly cursors: CursorCodec;
}

/**
 * The route of a list. All that lists offer their callers is made here: filters, pages, cursors.
 * @throws Error if a cursor would not be bound to one of the filters.
 */
export function listRoute<
  const Path extends string,
  Row,
  Position extends JsonValue,
  const Filters extends TProperties = Record<never, never>,
  Defaulted extends keyof Filters = never,
>(list: List<Path, Filters, Defaulted, Row, Position>): Route<AdminCaller> {
  const { filters, defaults, name, boundTo, holder, rows, positionOf, row, rowOf, cursors, ...fields } = list;
  const { page: description = 'A page.', errors = [], ...documented } = fields;
  const free = Object.keys(filters ?? {}).find((filter) => !boundTo.includes(filter));
  if (free !== undefined) throw new Error(`${list.operationId}: a cursor would not be bound to ${free}.`);
  return adminRoute({
    ...adminBase,
    ...documented,
    method: 'get',
    query: listQuery(LIST_RANGE, filters ?? {}),
    responses: { 200: { description, schema: listOf(row) } },
    errors,
    async handler({ params, query }) {
      const { limit, cursor, ...given } = query;
      const asked: Readonly<Record<string, string>> = { ...defaults, ...params, ...given };
      // The schemas of path and query have validated names and values.
      const wanted = valuesOf(asked, filters ?? {}) as Wanted<Path, Filters, Defaulted>;
      await holder?.(wanted);
      const binding = [name, ...boundTo.map((parameter) => asked[String(parameter)] ?? '')];
      const page = readPage<Position>({ limit, cursor }, cursors, binding);
      const found = await rows({ ...wanted, limit: page.limit + 1, after: page.after });
      return { status: 200, body: page.answer(found, { item: rowOf ?? asItIs, position: positionOf }) };
    },
  });
}

const asItIs = <Row>(row: Row): object => row as object;

function valuesOf(asked: Readonly<Record<string, string>>, filters: TProperties): Readonly<Record<string, unknown>> {
  const isTime = (name: string) => filters[name]?.['format'] === 'date-time';
  return Object.fromEntries(Object.entries(asked).map(([name, text]) => [name, isTime(name) ? instantOf(text) : text]));
}

/** One page of a list. */
interface Page<Position> {
  /** Maximum number of items. Query one more, to learn whether there is a next page. */
  readonly limit: number;
  /** The position after which the page starts; undefined for the first page. */
  readonly after: Position | undefined;
  /** Cuts `limit + 1` rows to the page, and makes the next cursor from the last row shown. */
  answer<Row>(
    rows: readonly Row[],
    show: { readonly item: (row: Row) => object; readonly position: (row: Row) => Position },
  ): { items: object[]; nextCursor: string | null };
}

/**
 * Parses `limit` and `cursor` of a list. The binding names the list and its filters; a cursor with another binding is
 * refused.
 * @throws AppError INVALID_LIMIT, INVALID_CURSOR.
 */
export function readPage<Position extends JsonValue>(
  query: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  cursors: CursorCodec,
  binding: readonly string[],
): Page<Position> {
  const limit = parseLimit(query.limit, LIST_RANGE);
  return {
    limit,
    // Cursors are authenticated: it was made below.
    after: query.cursor === undefined ? undefined : (cursors.read(binding, query.cursor) as Position),
    answer: (rows, { item, position }) => {
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const nextCursor = rows.length > limit && last !== undefined ? cursors.make(binding, position(last)) : null;
      return { items: shown.map(item), nextCursor };
    },
  };
}
