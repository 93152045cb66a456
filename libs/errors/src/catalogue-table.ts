import { CATALOGUE } from './catalogue.ts';
import { ITEM_CODES } from './error-code.ts';

/** The catalogue as a Markdown table, in declaration order; item codes come last. */
export function catalogueTable(): string {
  const rows = Object.entries(CATALOGUE).map(([code, entry]) => row(String(entry.status), code, entry));
  const itemRows = Object.entries(ITEM_CODES).map(([code, entry]) => row('item of a 200', code, entry));
  return ['| Status | Code | Title | Meaning |', '|---|---|---|---|', ...rows, ...itemRows, ''].join('\n');
}

function row(status: string, code: string, entry: { readonly title: string; readonly description: string }): string {
  return `| ${status} | \`${code}\` | ${escapeCell(entry.title)} | ${escapeCell(entry.description)} |`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
