const NONE: readonly string[] = [];

/**
 * Every value of one header, in order, from `rawHeaders`. `request.headers` cannot tell: of some headers it keeps the
 * first and drops the others without a word. `name` is lower case.
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
