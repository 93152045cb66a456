export interface Column {
  readonly name: string;
  /** Right-aligned, for numbers. */
  readonly right?: boolean;
}

/** A column of numbers. */
export const right = (name: string): Column => ({ name, right: true });

/** A Markdown table with aligned columns. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ name }, at) => Math.max(3, name.length, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (cells: readonly string[]): string => {
    const padded = columns.map(({ right }, at) => {
      const cell = cells[at] ?? '';
      return right === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rules = columns.map(({ right }, at) => {
    const width = widths[at] ?? 0;
    return right === true ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width);
  });
  return [line(columns.map(({ name }) => name)), line(rules), ...rows.map(line)].join('\n');
}

/** 12345.6 as "12,346"; a missing value as a dash. */
export const wholeNumber = (value: number | null | undefined): string =>
  value == null || Number.isNaN(value) ? '-' : Math.round(value).toLocaleString('en-US');

export const decimals = (value: number | null | undefined, digits: number): string =>
  value == null || Number.isNaN(value) ? '-' : value.toFixed(digits);
