import { cellText, type Format } from './cell-text.ts';
import type { JsonObject } from './json-object.ts';
import { printable } from './printable.ts';

export interface Column {
  readonly title: string;
  /** The member of the row, or a path to it such as `limits.burst`. */
  readonly member: string;
  /** `cellText` where absent. */
  readonly format?: Format;
}

const GAP = '  ';
const CELL_MAX_CHARACTERS = 40;

/**
 * Writes rows as aligned lines, page by page: titles come with the first rows, whose widths the later pages keep, so that
 * a long list is shown as it arrives instead of being held until its end.
 */
export class RowTable {
  readonly #columns: readonly Column[];
  #widths: number[] = [];

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The lines of these rows. Never cuts the first column: it is what one copies into the next command. */
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

function cell(row: JsonObject, { member, format = cellText }: Column, mayCut: boolean): string {
  const value = member.split('.').reduce<JsonObject[string] | undefined>(memberOf, row);
  const text = printable(value === undefined ? cellText(value) : format(value));
  const characters = [...text];
  if (!mayCut || characters.length <= CELL_MAX_CHARACTERS) return text;
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
