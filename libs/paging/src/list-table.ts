import { COUNT_LIMIT } from './totals.ts';
import { shardedPage, type ListShards } from './sharded-page.ts';
import type { Search } from './search.ts';
import type { Sorting } from './sorting.ts';

/** A column of an order: its SQL expression, of a type whose text form PostgreSQL reads back exactly. */
export interface OrderColumn {
  /** Of a text: with `COLLATE "C"`, and short enough for a cursor. */
  readonly by: string;
  readonly type: 'text' | 'timestamptz' | 'bigint';
  /** Rows without a value come last in either direction; without an index, so only for tables of some thousand rows. */
  readonly nullable?: true;
}

/** A table that people read as a list; its alias is `l` in all expressions. */
export interface ListTable<Field extends string> {
  /** `desk.things l`, with further joins that neither add nor remove rows. `l` is a table, or a query with its `ctid`. */
  readonly from: string;
  readonly columns: string;
  /** The text by which rows that are equal in the order are told apart, in code points. */
  readonly id: string;
  readonly orders: Readonly<Record<Field, OrderColumn>>;
  /**
   * How an index finds rows that hold the sequences `$grams` of the words and match `$patterns`. Absent: words are looked
   * for in `l.folded` of all rows of the conditions.
   */
  readonly searched?: string;
}

/** A condition on a row: SQL in which `$` stands for the value. */
export type ListCondition = readonly [sql: string, value: unknown];

/** Which rows a filter means. */
export interface ListWhere {
  readonly conditions: readonly ListCondition[];
  /** Further conditions, which an index without an order answers all at once. */
  readonly marked?: {
    readonly conditions: readonly ListCondition[];
    /** The same in the form of that index: left out where an order is walked. */
    readonly index: ListCondition;
  };
  /** Elements that the index of sequences has besides them: who owns the rows. */
  readonly scope?: readonly string[];
  /** Fields of orders of which an index has the rows of the conditions side by side: walked, however few they are. */
  readonly walked?: readonly string[];
  /** By field of an order: how the first rows are found where no index has the rows of the conditions in that order. */
  readonly shards?: Readonly<Record<string, ListShards>>;
}

/** The place of a row in its list: the value that orders it, as text, and its id. */
export type ListPosition = [value: string | null, id: string];

/** A row of a list, with its place. */
export interface Listed<Row> {
  readonly row: Row;
  readonly position: ListPosition;
}

/** What a list that is searched and sorted is asked for, besides its filters. */
export interface ListOrder<Field extends string> {
  readonly search?: Search | undefined;
  readonly sorting: Sorting<Field>;
}

/** A list in a table, as its route reads it. */
export interface TableList<Filter, Row, Field extends string> {
  /** How many rows pass, COUNT_LIMIT at most. */
  count(wanted: Filter & Pick<ListOrder<Field>, 'search'>): Promise<number>;
  /** A page. `counted` is what `count` has just answered; without it there are taken to be too many to count. */
  rows(wanted: Filter & ListOrder<Field> & PageOf): Promise<Listed<Row>[]>;
}

interface PageOf {
  readonly counted?: number | undefined;
  readonly limit: number;
  readonly after: ListPosition | undefined;
}

interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The columns that `pageOf` adds to each row: of its position. */
interface PlacedRow {
  readonly list_value: string | null;
  readonly list_id: string;
}

/** Reads a table as a list. */
export function tableList<Filter, Row, const Field extends string, Columns extends object>(
  sql: { query<Answer extends object>(statement: ListStatement): Promise<Answer[]> },
  {
    whereOf,
    read,
    ...table
  }: ListTable<Field> & {
    readonly whereOf: (filter: Filter) => ListWhere;
    readonly read: (columns: Columns) => Row;
  },
): TableList<Filter, Row, Field> {
  return {
    async count({ search, ...filter }) {
      const wanted = { ...whereOf(filter as Filter), search };
      const count = async (statement: ListStatement) =>
        (await sql.query<{ counted: number }>(statement))[0]?.counted ?? 0;
      const hasIndex = wanted.marked !== undefined || isIndexed(table, search);
      const among = (rows: number) => count(firstCountOf(table, wanted, rows));
      // What is in most rows is soon counted without the index, which would read an entry for each of them.
      const isCommon = hasIndex && (await among(PROBED_ROWS)) >= PROBED_ROWS / 2;
      if (isCommon && (await among(FIRST_ROWS)) >= COUNT_LIMIT) return COUNT_LIMIT;
      return count(countOf(table, wanted));
    },
    async rows(wanted) {
      const found = await sql.query<Columns & PlacedRow>(pageOf(table, { ...whereOf(wanted), ...wanted }));
      return found.map(({ list_value: value, list_id: id, ...columns }) => ({
        row: read(columns as unknown as Columns),
        position: [value, id],
      }));
    },
  };
}

/** The statement that counts the rows of a list, COUNT_LIMIT at most. Its answer decides how the page is read. */
function countOf(table: AnyTable, wanted: Searched): ListStatement {
  const values: unknown[] = [];
  const where = conditionsOf(table, wanted, { values, byIndex: true });
  return {
    text: `SELECT count(*)::int AS counted FROM (SELECT FROM ${table.from}${where} LIMIT ${COUNT_LIMIT}) counted`,
    values,
  };
}

/** Rows that are looked at for marks and words before their index is asked: some, and where half of these pass, more. */
const PROBED_ROWS = 1_000;
const FIRST_ROWS = 2 * COUNT_LIMIT;

const hasWords = (search: Search | undefined): search is Search => search !== undefined && search.words.length > 0;

const isIndexed = ({ searched }: AnyTable, search: Search | undefined): boolean =>
  searched !== undefined && hasWords(search);

/** The same count among so many rows, the first that pass the other conditions. */
function firstCountOf(table: AnyTable, { search, marked, ...wanted }: Searched, rows: number): ListStatement {
  const values: unknown[] = [];
  const place = (value: unknown) => `$${values.push(value)}`;
  const where = conditionsOf(table, wanted, { values, byIndex: true });
  const words: ListCondition[] = hasWords(search) ? [['l.folded LIKE ALL ($)', search.patterns]] : [];
  const passes = [...(marked?.conditions ?? []), ...words].map((condition) => placed(condition, place)).join(' AND ');
  return {
    text: `SELECT count(*)::int AS counted
             FROM (SELECT ${passes} AS passes FROM ${table.from}${where} LIMIT ${rows}) first WHERE passes`,
    values,
  };
}

/**
 * The statement of a page. Where all rows were counted, exactly those are found, by their places, and the page is cut out
 * of them before its columns are read; where there are more, or the index of the order has nothing between them, it is
 * walked: a row that passes is never far. Left to itself, the planner would walk for the last of ten rows through a
 * million, or find a million to sort them.
 */
function pageOf<Field extends string>(
  table: ListTable<Field>,
  wanted: Searched & ListOrder<Field> & PageOf,
): ListStatement {
  const { sorting, counted = COUNT_LIMIT, limit, after } = wanted;
  const { by, type, nullable } = table.orders[sorting.field];
  const isSideBySide = !hasWords(wanted.search) && wanted.walked?.includes(sorting.field) === true;
  const isFew = counted < COUNT_LIMIT && !isSideBySide;
  const values: unknown[] = [];
  const place = (value: unknown) => `$${values.push(value)}`;
  const where = conditionsOf(table, wanted, { values, byIndex: isFew });
  const direction = sorting.descending ? 'DESC' : 'ASC';
  const columns = `${table.columns}, (${by})::text AS list_value, ${table.id} AS list_id`;
  const beyond = sorting.descending ? '<' : '>';
  const restOf = (value: string, id: string): string => {
    if (after === undefined) return '';
    const [last, lastId] = after;
    if (last === null) return `${value} IS NULL AND ${id} ${beyond} ${place(lastId)}`;
    const isAfter = `(${value}, ${id}) ${beyond} (${place(last)}::${type}, ${place(lastId)}::text)`;
    return nullable === undefined ? isAfter : `(${isAfter} OR ${value} IS NULL)`;
  };
  const nulls = nullable === undefined ? '' : ' NULLS LAST';
  const ordered = (value: string, id: string) => `ORDER BY ${value} ${direction}${nulls}, ${id} ${direction}`;
  if (isFew) {
    const rest = restOf('list_order', 'list_id');
    return {
      text: `WITH found AS MATERIALIZED (
               SELECT l.ctid AS list_row, ${by} AS list_order, ${table.id} AS list_id FROM ${table.from}${where}),
             page AS (SELECT * FROM found${joined('', rest)} ${ordered('list_order', 'list_id')} LIMIT ${place(limit)})
             SELECT ${columns} FROM ${table.from}, page
              WHERE l.ctid = page.list_row ${ordered('page.list_order', 'page.list_id')}`,
      values,
    };
  }
  const rest = restOf(by, table.id);
  const shards = wanted.search === undefined ? wanted.shards?.[sorting.field] : undefined;
  if (shards !== undefined) {
    const text = shardedPage({
      ...{ ...table, columns, by, limit: place(limit), where: joined(where, rest) },
      shards: shards.select(place),
      ...{ isOfShard: shards.isOfShard, ordered },
    });
    return { text, values };
  }
  return {
    text: `SELECT ${columns} FROM ${table.from}${joined(where, rest)} ${ordered(by, table.id)} LIMIT ${place(limit)}`,
    values,
  };
}

type AnyTable = Pick<ListTable<string>, 'from' | 'searched'>;
type Searched = ListWhere & { readonly search?: Search | undefined };

const placed = ([sql, value]: ListCondition, place: (value: unknown) => string): string =>
  sql.replace('$', () => place(value));

const joined = (where: string, rest: string): string => {
  if (rest === '') return where;
  return where === '' ? ` WHERE ${rest}` : `${where} AND ${rest}`;
};

function conditionsOf(
  { searched }: AnyTable,
  { conditions, marked, search, scope = [] }: Searched,
  { values, byIndex }: { readonly values: unknown[]; readonly byIndex: boolean },
): string {
  const place = (value: unknown) => `$${values.push(value)}`;
  const ofMarks = marked === undefined ? [] : [...marked.conditions, ...(byIndex ? [marked.index] : [])];
  const texts = [...conditions, ...ofMarks].map((condition) => placed(condition, place));
  if (hasWords(search)) {
    const { grams, patterns } = search;
    const sql = byIndex && searched !== undefined ? searched : 'l.folded LIKE ALL ($patterns)';
    texts.push(
      sql
        .replace('$grams', () => place([...grams, ...scope.map((owner) => `=${owner}`)]))
        .replace('$patterns', () => place(patterns)),
    );
  }
  return texts.length === 0 ? '' : ` WHERE ${texts.join(' AND ')}`;
}
