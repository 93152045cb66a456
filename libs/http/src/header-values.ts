import type { IncomingMessage } from 'node:http';

const NONE: readonly string[] = [];

/**
 * All values of one header, in order, from `rawHeaders`. `request.headers` keeps only the first value of some headers.
 * `name` is lower case.
 */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] ?? '';
    if (candidate.length !== name.length) continue;
    if (candidate !== name && candidate.toLowerCase() !== name) continue;
    const value = rawHeaders[i + 1] ?? '';
    if (values === undefined) values = [value];
    else values.push(value);
  }
  return values ?? NONE;
}

/** A header as Node gives it; `name` is lower case. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}
