import { readFileSync, writeFileSync } from 'node:fs';
import type { ConfigFields } from './config-field.ts';

/** The marks between which the README of a service has its table. */
const BEGIN = '<!-- config:begin -->';
const END = '<!-- config:end -->';

/** The configuration of a service as a Markdown table, in the order of its fields. */
export function configTable(fields: ConfigFields): string {
  const rows = Object.values(fields).map((field) => {
    const fallback = field.fallback === undefined ? 'required' : field.fallback.shown;
    return [`\`${field.name}\``, field.description, field.isSecret ? `${field.form}; secret` : field.form, fallback];
  });
  const table = [['Variable', 'Meaning', 'Form', 'Default'], ['-', '-', '-', '-'], ...rows];
  return table.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}

/**
 * Compares the table in a README with the fields; for the test that keeps it from going stale. How its columns are aligned
 * does not matter. With `write` it is written instead.
 * @throws Error naming the first row that differs, or when the README has no place for the table.
 */
export function checkConfigTable(readmePath: string, fields: ConfigFields, options: { write: boolean }): void {
  const readme = readFileSync(readmePath, 'utf8');
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${readmePath} has no place for the table: ${BEGIN} and ${END}.`);
  const table = configTable(fields);
  if (options.write) {
    writeFileSync(readmePath, `${readme.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${readme.slice(end)}`);
    return;
  }
  const found = rowsOf(readme.slice(begin + BEGIN.length, end));
  const wanted = rowsOf(table);
  const row = wanted.findIndex((text, index) => found[index] !== text);
  if (row < 0 && found.length === wanted.length) return;
  const at = row < 0 ? wanted.length : row;
  throw new Error(
    `${readmePath} is stale: it has ${found[at] ?? 'no row'} where the fields have ${wanted[at] ?? 'none'}.`,
  );
}

function rowsOf(table: string): string[] {
  const lines = table.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => line.trim().replaceAll(/-+/g, '-').replaceAll(/ +/g, ' '));
}
