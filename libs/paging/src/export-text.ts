import { setImmediate as nextTurn } from 'node:timers/promises';
import { csvLine } from './csv.ts';

/** The formats of an export: CSV (RFC 4180) with a header, and JSON Lines. */
export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/jsonl',
};

/** Rows that a step reads. No connection of the database is held between two of them. */
export const STEP_ROWS = 500;
/** Rows of a step that are shown in one turn of the event loop, so few that they delay nobody much. */
export const SHOWN_ROWS = 100;

/** Reads a list in steps, until one is not full, and gives its rows in pages, each in a turn of its own. */
export async function* allPages<Row, Position>(
  read: (page: { readonly limit: number; readonly after: Position | undefined }) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
): AsyncGenerator<readonly Row[]> {
  let after: Position | undefined;
  for (;;) {
    const rows = await read({ limit: STEP_ROWS, after });
    yield rows.slice(0, SHOWN_ROWS);
    for (let from = SHOWN_ROWS; from < rows.length; from += SHOWN_ROWS) {
      await nextTurn();
      yield rows.slice(from, from + SHOWN_ROWS);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < STEP_ROWS) return;
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
