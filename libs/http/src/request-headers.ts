const NONE: readonly string[] = [];

/**
 * Whether If-None-Match names this entity tag, which makes the answer a 304: `*` or any of them, compared weakly (RFC 9110,
 * section 13.1.2). Ours hold no comma.
 */
export function isKnownTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => bare(one) === bare(etag));
}

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
