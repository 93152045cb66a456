import {
  columnsOf,
  formatParameter,
  instantText,
  type LimitRange,
  listOf,
  listQuery,
  type PathParams,
  type Route,
  searchParameter,
  sendDownload,
  sortParameter,
  totalSchema,
} from '@sealgate/http';
import { defined, instantOf, type JsonValue } from '@sealgate/json';
import {
  allPages,
  type CursorCodec,
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  exportText,
  type Listed,
  type ListOrder,
  type ListPosition,
  parseLimit,
  searchOf,
  sortingOf,
  sortValues,
  type TableList,
  totalOf,
} from '@sealgate/paging';
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import {
  ActorNames,
  adminBase,
  type AdminCaller,
  adminRoute,
  type AuditLedgerChange,
  type NamesOfActors,
  OPERATORS_ONLY,
} from './admin-app.ts';

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
type Wanted<
  Path extends string,
  Filters extends TProperties,
  Defaulted extends keyof Filters,
  Field extends string = never,
> = PathParams<Path> &
  Static<TObject<Filters>> & { readonly [Name in Defaulted]: Static<Filters[Name]> } & ListOrder<Field>;

/** Which rows of a list to read. */
export interface PageOf<Position> {
  /** What `count` found, in a list that has it. */
  readonly counted?: number | undefined;
  readonly limit: number;
  readonly after: Position | undefined;
}

/** A list of the admin listener, as a value. */
interface List<
  Path extends string,
  Filters extends TProperties,
  Defaulted extends keyof Filters,
  Row,
  Position,
  Field extends string,
> {
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
  /** Parameters of the query besides `limit`, `cursor`, `q` and `sort`. */
  readonly filters?: Filters;
  /** The values of filters that a request leaves out. */
  readonly defaults?: { readonly [Name in Defaulted]: Static<Filters[Name]> };
  /** Whether it has `q`. */
  readonly search?: boolean;
  /** The fields of `sort`, and the order of a request without it. Absent: the list has one order. */
  readonly sorts?: { readonly fields: readonly Field[]; readonly default: NoInfer<Field | `-${Field}`> };
  /**
   * Names the list in its cursors, and the parameters that a cursor is bound to, in order: all filters, and those of the
   * path that choose the rows. A cursor is refused where one of them, `q` or `sort` differs.
   */
  readonly name: string;
  readonly boundTo: readonly (keyof PathParams<Path> | keyof Filters)[];
  /** Throws AppError NOT_FOUND where that which has the list does not exist. Precedes the refusal of a cursor. */
  readonly holder?: (wanted: Wanted<Path, Filters, Defaulted, Field>) => Promise<unknown>;
  /**
   * How many rows pass the filters, COUNT_LIMIT at most: for the total, and for `rows`, which it precedes. Absent: the
   * list has no total.
   */
  readonly count?: (wanted: Wanted<Path, Filters, Defaulted, Field>) => Promise<number>;
  /** At most `limit` rows that pass the filters, in the order of the list, after the position of a row. */
  readonly rows: (wanted: Wanted<Path, Filters, Defaulted, Field> & PageOf<Position>) => Promise<readonly Row[]>;
  /** The place of a row in that order, as a cursor holds it. */
  readonly positionOf: (row: Row) => Position;
  /** Describes an answer; by default, `A page.` */
  readonly page?: string;
  /** The schema of a row as it is shown. */
  readonly row: TSchema;
  /** Absent: a row is shown as it is. */
  readonly rowOf?: (row: Row) => object;
  /** Who did what a row says: their names are beside the rows. Absent: nobody. */
  readonly actors?: { readonly of: (row: Row) => string; readonly names: NamesOfActors };
  readonly cursors: CursorCodec;
}

interface Exported<Path extends string, Filters extends TProperties> {
  /** The kind of its rows in the audit trail. */
  readonly resource: string;
  /** The parameter that names what has the list, for the audit trail. */
  readonly of?: keyof PathParams<Path> | keyof Filters;
  /** Writes the audit event of an export, before its first byte. */
  readonly auditChange: AuditLedgerChange;
}

/** The members of a list that a table is read for. Without ports there is a document, but no table. */
export function rowsOf<Filter, Row, Field extends string>(
  tableOf: () => TableList<Filter, Row, Field>,
  rowOf: (row: Row) => object = asItIs,
) {
  return {
    count: (wanted: Filter & Pick<ListOrder<Field>, 'search'>) => tableOf().count(wanted),
    rows: (wanted: Filter & ListOrder<Field> & PageOf<ListPosition>) => tableOf().rows(wanted),
    positionOf: ({ position }: Listed<Row>) => position,
    rowOf: ({ row }: Listed<Row>) => rowOf(row),
  };
}

/**
 * The route of a list. All that lists offer their callers is made here: filters, words, orders, pages, cursors, totals.
 * @throws Error if a cursor would not be bound to one of the filters.
 */
export function listRoute<
  const Path extends string,
  Row,
  Position extends JsonValue,
  const Filters extends TProperties = Record<never, never>,
  Defaulted extends keyof Filters = never,
  const Field extends string = never,
>(list: List<Path, Filters, Defaulted, Row, Position, Field>): Route<AdminCaller> {
  const { filters, boundTo, name, holder, count, rows, row, rowOf = asItIs, cursors, positionOf, actors } = list;
  const free = Object.keys(filters ?? {}).find((filter) => !boundTo.includes(filter));
  if (free !== undefined) throw new Error(`${list.operationId}: a cursor would not be bound to ${free}.`);
  const page = listOf(row, {
    ...(count === undefined ? {} : { total: totalSchema }),
    ...(actors === undefined ? {} : { names: ActorNames }),
  });
  return adminRoute({
    ...documentedOf(list),
    query: listQuery(LIST_RANGE, parametersOf(list)),
    responses: { 200: { description: list.page ?? 'A page.', schema: page } },
    async handler({ params, query }) {
      const { limit, cursor, ...given } = query as Query;
      const { wanted, asked } = wantedOf(list, { ...params, ...given });
      await holder?.(wanted);
      const parameters = [...boundTo.map(String), ...orderParameters(list)];
      const binding = [name, ...parameters.map((parameter) => asked[parameter] ?? '')];
      const { after, answer, ...cut } = readPage<Position>({ limit, cursor }, cursors, binding);
      const counted = await count?.(wanted);
      const found = await rows(Object.assign({ ...defined({ counted }), limit: cut.limit + 1, after }, wanted));
      const total = counted === undefined ? {} : { total: totalOf(counted) };
      const shown = answer(found, { item: rowOf, position: positionOf });
      if (actors === undefined) return { status: 200, body: { ...shown, ...total } };
      const names = await actors.names([...new Set(found.slice(0, cut.limit).map(actors.of))]);
      return { status: 200, body: { ...shown, ...total, names } };
    },
  });
}

/**
 * A list, and its export: all rows of the same filters, words and order as a file, for operators. It is read in steps
 * that each take and give back a connection, so it may take as long as its reader.
 */
export function exportedList<
  const Path extends string,
  Row,
  Position extends JsonValue,
  const Filters extends TProperties = Record<never, never>,
  Defaulted extends keyof Filters = never,
  const Field extends string = never,
>(
  list: List<Path, Filters, Defaulted, Row, Position, Field> & { readonly exported: Exported<Path, Filters> },
): Route<AdminCaller>[] {
  const { holder, count, rows, row, rowOf = asItIs, positionOf, exported, name } = list;
  const { resource, of, auditChange } = exported;
  const columns = columnsOf(row as TObject);
  const exporting = adminRoute({
    ...documentedOf(list),
    path: `${list.path}/export` as Path,
    operationId: list.operationId.replace(/^list/, 'export'),
    summary: `Export what \`${list.operationId}\` lists, all of it`,
    description: 'The filters and the order of the list. Written to the audit trail before the first byte.',
    permit: OPERATORS_ONLY,
    looks: 'stream',
    query: Type.Object(
      { format: formatParameter(EXPORT_FORMATS), ...parametersOf(list) },
      { additionalProperties: false },
    ),
    raw: true,
    responses: {
      200: {
        description: 'The rows. In CSV a text that a spreadsheet would run begins with an apostrophe.',
        contentType: EXPORT_TYPES.csv,
        otherTypes: [EXPORT_TYPES.jsonl],
      },
    },
    async handler(context) {
      const { format, ...given } = context.query as Query & { readonly format: ExportFormat };
      const { wanted, asked } = wantedOf(list, { ...context.params, ...given });
      await holder?.(wanted);
      const detail = { ...asked, format };
      const resourceId = of === undefined ? '*' : (asked[String(of)] ?? '*');
      await auditChange(context, { action: 'list.export', resource, resourceId, detail });
      const counted = await count?.(wanted);
      const pages = allPages<Row, Position>(
        (page) => rows(Object.assign({ ...defined({ counted }), ...page }, wanted)),
        positionOf,
      );
      await sendDownload(context.response, {
        contentType: EXPORT_TYPES[format],
        fileName: `${name.replaceAll(' ', '-')}.${format}`,
        chunks: exportText(shownPages(pages, rowOf), { format, columns }),
      });
    },
  });
  return [listRoute(list), exporting];
}

async function* shownPages<Row>(pages: AsyncIterable<readonly Row[]>, rowOf: (row: Row) => object) {
  for await (const rows of pages) yield rows.map(rowOf);
}

type Query = Readonly<Record<string, string | undefined>>;

/** What a list and its export have in common in the document. */
function documentedOf<Path extends string>(list: Documented<Path>) {
  const { path, params, operationId, summary, description, tags, permit, errors = [] } = list;
  const own = defined({ path, params, operationId, summary, description, tags, permit }) as Documented<Path>;
  return { ...adminBase, ...own, errors, method: 'get' } as const;
}

type Documented<Path extends string> = Pick<
  List<Path, TProperties, never, unknown, unknown, string>,
  'path' | 'params' | 'operationId' | 'summary' | 'description' | 'tags' | 'permit' | 'errors'
>;
type Queried = Pick<
  List<string, TProperties, never, unknown, unknown, string>,
  'operationId' | 'filters' | 'search' | 'sorts' | 'defaults'
>;

function parametersOf({ operationId, filters, search, sorts }: Queried): TProperties {
  const name = `${operationId.replace(/^list/, '')}Order`;
  return {
    ...filters,
    ...(search === true ? { q: searchParameter } : {}),
    ...(sorts === undefined
      ? {}
      : { sort: sortParameter(sortValues(sorts.fields), { name, byDefault: sorts.default }) }),
  };
}

/** The parameters by which cursors are bound, besides the filters. */
const orderParameters = ({ search, sorts }: Queried): string[] => [
  ...(search === true ? ['q'] : []),
  ...(sorts === undefined ? [] : ['sort']),
];

/** What a request asks for, as `rows` gets it, and as it was written. */
function wantedOf<
  Path extends string,
  Filters extends TProperties,
  Defaulted extends keyof Filters,
  Field extends string,
>(
  {
    filters,
    sorts,
    defaults,
  }: Pick<List<Path, Filters, Defaulted, never, never, Field>, 'path' | 'filters' | 'sorts' | 'defaults'>,
  given: Query,
) {
  const order: Query = sorts === undefined ? {} : { sort: sorts.default };
  const asked = { ...order, ...defaults, ...given } as Readonly<Record<string, string>>;
  const { q, sort, ...filtered } = asked;
  // The schemas of path and query have validated names and values.
  const wanted = {
    ...valuesOf(filtered, filters ?? {}),
    ...(q === undefined ? {} : { search: searchOf(q) }),
    ...(sort === undefined ? {} : { sorting: sortingOf(sort) }),
  } as Wanted<Path, Filters, Defaulted, Field>;
  return { wanted, asked };
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
