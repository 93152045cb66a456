import type { JsonValue } from '@sealgate/json';
import { Option } from 'commander';
import type { JsonAnswer } from './admin-api.ts';
import { UnreachableError } from './errors.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { type Column, printable, RowTable } from './row-table.ts';
import type { Session } from './session.ts';

export interface PageOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly all?: true;
}

/** The API's maximum, for the fewest requests. */
const LARGEST_PAGE = '200';

export function pageOptions(): Option[] {
  return [
    new Option('--limit <n>', 'page size, 1 to 200 (default: 50)'),
    new Option('--cursor <cursor>', 'continue after an earlier page'),
    new Option('--follow-pages, --all', 'all pages'),
  ];
}

export interface List {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly columns: readonly Column[];
  /** Printed for an empty list, such as `There are no networks.` */
  readonly none: string;
}

/**
 * Prints one page of a list, or with `all` every page as it arrives. As JSON all pages become one without a next page;
 * if a later page fails, the output is incomplete JSON, so that a part is not mistaken for the list.
 */
export async function printList(session: Session, list: List, options: PageOptions): Promise<void> {
  const print = options.all !== true ? printPage : session.json ? printAllJson : printAllLines;
  await print(session, list, options);
}

async function printPage(session: Session, list: List, { limit, cursor }: PageOptions): Promise<void> {
  const { answer, items, nextCursor, total } = await readPage(session, list, { limit, cursor });
  const table = new RowTable(list.columns);
  session.show(answer, () => (items.length === 0 ? `${list.none}\n` : table.lines(items)));
  if (total !== undefined && items.length > 0) session.note(`${items.length} of ${total}\n`);
  if (nextCursor !== null && !session.json)
    session.note(`There is more: add --all, or --cursor ${printable(nextCursor)}\n`);
}

async function printAllJson(session: Session, list: List, options: PageOptions): Promise<void> {
  const opening = '{"items":[';
  let before = opening;
  for await (const { items } of pagesOf(session, list, options)) {
    for (const item of items) {
      session.print(before + JSON.stringify(item));
      before = ',';
    }
  }
  session.print(`${before === opening ? opening : ''}],"nextCursor":null}\n`);
}

async function printAllLines(session: Session, list: List, options: PageOptions): Promise<void> {
  const table = new RowTable(list.columns);
  let isEmpty = true;
  for await (const { items } of pagesOf(session, list, options)) {
    if (items.length > 0) session.print(table.lines(items));
    isEmpty &&= items.length === 0;
  }
  if (isEmpty) session.say(list.none);
}

/** Prints every item of a list as a line of JSON, as pages arrive. */
export async function printLines(session: Session, list: Pick<List, 'path' | 'query'>): Promise<void> {
  for await (const { items } of pagesOf(session, list, {})) {
    for (const item of items) session.print(`${JSON.stringify(item)}\n`);
  }
}

/** Prints every page of a list, whole, as a line of JSON. */
export async function printPages(session: Session, list: Pick<List, 'path' | 'query'>): Promise<void> {
  for await (const { answer } of pagesOf(session, list, {})) session.print(`${JSON.stringify(answer.value)}\n`);
}

/** All pages from the cursor on. @throws UnreachableError if the cursors form a cycle. */
async function* pagesOf(
  session: Session,
  list: Pick<List, 'path' | 'query'>,
  { limit = LARGEST_PAGE, cursor }: PageOptions,
) {
  let next: string | null | undefined = cursor;
  do {
    const page = await readPage(session, list, { limit, cursor: next });
    const { items, nextCursor } = page;
    if (nextCursor !== null && (nextCursor === next || items.length === 0)) throw broken('It does not advance.');
    yield page;
    next = nextCursor;
  } while (next !== null);
}

/** Prints the export of a list as CSV, as it arrives. */
export async function printCsv(session: Session, { path, query }: Pick<List, 'path' | 'query'>): Promise<void> {
  const parts = session.api.parts({ method: 'GET', path: `${path}/export`, query: { ...query, format: 'csv' } });
  for await (const part of parts) session.print(part);
}

interface Page {
  /** Undefined for a list without a total. */
  readonly total: string | undefined;
  readonly answer: JsonAnswer;
  readonly items: readonly JsonObject[];
  readonly nextCursor: string | null;
}

async function readPage(
  { api }: Session,
  { path, query }: Pick<List, 'path' | 'query'>,
  page: { readonly limit: string | undefined; readonly cursor: string | undefined },
): Promise<Page> {
  const answer = await api.json({ method: 'GET', path, query: { ...query, ...page } });
  const items: JsonValue | undefined = answer.value['items'];
  const nextCursor = answer.value['nextCursor'];
  if (!Array.isArray(items) || !items.every(isObject)) throw broken('It has no items.');
  if (nextCursor !== null && typeof nextCursor !== 'string') throw broken('It has no nextCursor.');
  const total = answer.value['total'];
  return { answer, items, nextCursor, total: total === undefined ? undefined : String(total) };
}

function broken(why: string): UnreachableError {
  return new UnreachableError(`The response is not a list of an admin API. ${why}`);
}
