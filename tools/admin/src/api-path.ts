import { UsageError } from './usage-error.ts';

/**
 * A path below `/admin/v1` with each value as one encoded segment: apiPath`/networks/${networkId}/keys`.
 * Throws UsageError for a value that no path can carry: URLs drop the segments `.` and `..`, encoded or not, and what
 * is asked would be something else.
 */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.map((text, index) => `${text}${index < values.length ? segment(values[index] ?? '') : ''}`).join('');
}

function segment(value: string): string {
  if (value === '') throw new UsageError('An id or name is empty.');
  if (value === '.' || value === '..') throw new UsageError(`No path can name "${value}", so it cannot be asked for.`);
  if (!value.isWellFormed()) throw new UsageError('An id or name is not well-formed Unicode.');
  return encodeURIComponent(value);
}
