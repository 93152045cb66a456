import type { JsonValue } from '@sealgate/json';
import type { JsonObject } from './json-object.ts';

export interface Column {
  readonly title: string;
  /** The member of the row, or a path to it such as `limits.burst`. */
  readonly member: string;
  /** Default: `cellText`. */
  readonly format?: Format;
  /** Shown whole, whatever its length: words that somebody has to read. */
  readonly isWhole?: boolean;
}

const GAP = '  ';
const CELL_MAX_CHARACTERS = 40;

/**
 * Prints rows as aligned lines, page by page: titles come with the first rows, whose widths later pages keep, so that a
 * long list is printed as it arrives.
 */
export class RowTable {
  readonly #columns: readonly Column[];
  #widths: number[] = [];

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The lines of these rows. Never truncates the first column: it is copied into the next command. */
  lines(rows: readonly JsonObject[]): string {
    const cells = rows.map((row) => this.#columns.map((column, index) => cell(row, column, index > 0)));
    const isFirst = this.#widths.length === 0;
    if (isFirst) cells.unshift(this.#columns.map(({ title }) => title));
    if (isFirst) this.#widths = this.#columns.map((_, index) => widest(cells, index));
    return cells.map((line) => `${this.#aligned(line)}\n`).join('');
  }

  #aligned(line: readonly string[]): string {
    const padded = line.map(
      (text, index) => text + ' '.repeat(Math.max(0, (this.#widths[index] ?? 0) - lengthOf(text))),
    );
    return padded.join(GAP).trimEnd();
  }
}

function cell(row: JsonObject, { member, format = cellText, isWhole = false }: Column, mayCut: boolean): string {
  const value = member.split('.').reduce<JsonObject[string] | undefined>(memberOf, row);
  const text = printable(value === undefined ? cellText(value) : format(value));
  const characters = [...text];
  if (!mayCut || isWhole || characters.length <= CELL_MAX_CHARACTERS) return text;
  return `${characters.slice(0, CELL_MAX_CHARACTERS - 1).join('')}…`;
}

function memberOf(value: JsonObject[string] | undefined, name: string): JsonObject[string] | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;
}

function widest(lines: readonly (readonly string[])[], index: number): number {
  return Math.max(...lines.map((line) => lengthOf(line[index] ?? '')));
}

function lengthOf(text: string): number {
  return [...text].length;
}

/** A row as lines `member  value`, in the order of the response. A multi-line value goes below its name. */
export function rowFields(row: JsonObject, formats: Readonly<Record<string, Format>> = {}): string {
  const width = Math.max(...Object.keys(row).map((name) => name.length));
  return Object.entries(row)
    .map(([name, value]) => {
      const text = printableLines((formats[name] ?? cellText)(value));
      const label = printable(name);
      return text.includes('\n') ? `${label}\n${indented(text)}\n` : `${label.padEnd(width)}${GAP}${text}\n`;
    })
    .join('');
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `${GAP}${line}`)
    .join('\n');
}

/** Formats a member for people. */
export type Format = (value: JsonValue) => string;

/** Any value on one line: `-` for null, lists with commas. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellText).join(', ');
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** For lists where null allows everything and the empty list nothing. */
export const grantText: Format = (value) => {
  if (value === null) return 'all';
  return Array.isArray(value) && value.length === 0 ? 'none' : cellText(value);
};

/** The length of a list. */
export const countText: Format = (value) => (Array.isArray(value) ? String(value.length) : cellText(value));

/**
 * Replaces characters that could move the cursor, start a line or change the text direction: names and labels come from
 * others, and are shown on an operator's terminal.
 */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is being replaced
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** The same for multi-line text: line feeds stay. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
