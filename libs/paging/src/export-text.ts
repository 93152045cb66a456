import { csvLine } from './csv.ts';

/** The formats of an export: CSV (RFC 4180) with a header, and JSON Lines. */
export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/jsonl',
};

/**
 * Rows that an export reads at a time: so few that to show them delays nobody much. It holds no connection of the database
 * between two of them.
 */
export const EXPORT_PAGE_ROWS = 100;

/** Reads a list page by page, in steps, until a page is not full. */
export async function* allPages<Row, Position>(
  read: (page: { readonly limit: number; readonly after: Position | undefined }) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
): AsyncGenerator<readonly Row[]> {
  let after: Position | undefined;
  for (;;) {
    const rows = await read({ limit: EXPORT_PAGE_ROWS, after });
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < EXPORT_PAGE_ROWS) return;
    after = positionOf(last);
  }
}

/** The members of a row as an export names its columns: `current.score` is the score in the member `current`. */
type Column = string;

/**
 * The text of an export, one chunk a page, the first with the header. `columns` are those of the CSV; JSON Lines have the
 * rows as they are.
 */
export async function* exportText(
  pages: AsyncIterable<readonly object[]>,
  { format, columns }: { readonly format: ExportFormat; readonly columns: readonly Column[] },
): AsyncGenerator<string> {
  let header = format === 'csv' ? csvLine(columns) : '';
  const paths = columns.map((column) => column.split('.'));
  const lineOf =
    format === 'csv'
      ? (row: object) => csvLine(paths.map((path) => valueAt(row, path)))
      : (row: object) => `${JSON.stringify(row)}\n`;
  for await (const rows of pages) {
    yield header + rows.map(lineOf).join('');
    header = '';
  }
}

function valueAt(row: object, path: readonly string[]): unknown {
  let value: unknown = row;
  for (const name of path) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return value;
}
