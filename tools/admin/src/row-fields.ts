import { cellText, type Format } from './cell-text.ts';
import type { JsonObject } from './json-object.ts';
import { printable, printableLines } from './printable.ts';

const GAP = '  ';

/** One row as lines `member  value`, in the order of the answer. A value of several lines stands below its name. */
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
