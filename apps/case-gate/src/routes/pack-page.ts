import type { AssessorPack } from '../domain/assessor-pack.ts';

const STYLE = `body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#111}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #999}
table{border-collapse:collapse;width:100%}th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}
td,code,pre{overflow-wrap:anywhere}pre{white-space:pre-wrap;background:#f6f6f6;padding:.5rem}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}tr{break-inside:avoid}}`;

/** Renders the pack as a page to print. Shows every member of the JSON; runs and loads nothing. */
export function packPage(pack: AssessorPack): string {
  const { timeline, decisions, attachments, seals, ...members } = pack;
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>Assessor pack ${escaped(pack.case_id)}</title>`,
    `<style>${STYLE}</style></head><body>`,
    `<h1>Assessor pack ${escaped(pack.case_id)}</h1>`,
    fields(members),
    section('Decisions', decisions),
    section('Attachments', attachments),
    section('Timeline', timeline),
    ...(seals as readonly object[]).map((seal, index) => `<h2>Seal ${index + 1}</h2>${fields(seal)}`),
    ...((seals as readonly object[]).length === 0 ? ['<h2>Seals</h2><p>None.</p>'] : []),
    '</body></html>',
  ].join('\n');
}

function fields(members: object): string {
  const rows = Object.entries(members).map(
    ([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${shown(value)}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
}

function section(title: string, items: unknown): string {
  const rows = items as readonly Readonly<Record<string, unknown>>[];
  if (rows.length === 0) return `<h2>${title}</h2><p>None.</p>`;
  const names = Object.keys(rows[0]!);
  const head = names.map((name) => `<th scope="col">${escaped(name)}</th>`).join('');
  const body = rows.map((row) => `<tr>${names.map((name) => `<td>${shown(row[name])}</td>`).join('')}</tr>`);
  return `<h2>${title}</h2><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value !== 'object' || value === null) return escaped(String(value));
  return `<pre>${escaped(JSON.stringify(value, null, 1))}</pre>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** Whether an Accept header prefers HTML to JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return { type, q: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
  });
  // The most specific matching range counts; of two equal ones the first.
  const qualityOf = (type: string): number => {
    const wildcard = `${type.split('/')[0]}/*`;
    const range = [type, wildcard, '*/*'].map((name) => ranges.find((each) => each.type === name)).find(Boolean);
    return range?.q ?? 0;
  };
  return qualityOf('text/html') > qualityOf('application/json');
}
