import { CATALOGUE } from './catalogue.ts';
import { ITEM_CODES, type ItemCode } from './error-code.ts';

/** The catalogue as a Markdown table, in declaration order, with who answers each code; item codes come last. */
export function catalogueTable(answeredBy: (code: ItemCode) => readonly string[]): string {
  const rows = Object.entries({ ...CATALOGUE, ...ITEM_CODES }).map(([code, entry]) => {
    const status = 'status' in entry ? String(entry.status) : 'item of a 200';
    const { title, description } = entry;
    // The keys are those of both tables.
    const surfaces = answeredBy(code as ItemCode).join(', ');
    return `| ${status} | \`${code}\` | ${escapeCell(title)} | ${escapeCell(description)} | ${surfaces} |`;
  });
  return ['| Status | Code | Title | Meaning | Answered by |', '|---|---|---|---|---|', ...rows].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
