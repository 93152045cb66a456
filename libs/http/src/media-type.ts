/** RFC 9110, section 8.3.1: a type, then parameters whose values are tokens or quoted strings. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** White space belongs to what follows it, in one way only, so that no input makes the pattern backtrack. */
const PARAMETER = `[\\t ]*;(?:[\\t ]*(${TOKEN})=(${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?`;
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:${PARAMETER})*)[\\t ]*$`);
const EACH_PARAMETER = new RegExp(PARAMETER, 'g');

/** Headers are bounded by Node's limit on all of them; a type longer than this is nobody's. */
const MAX_LENGTH = 1024;

const JSON_TYPE = /^application\/json$/i;
/** RFC 6839, section 3.1. */
const JSON_OR_SUFFIX = /^(?:application\/json|[^/]+\/[^/]+\+json)$/i;

/**
 * Whether a Content-Type is `application/json` in any case, with no charset or utf-8; with `orSuffix` also any type that
 * ends in `+json`. Other parameters do not matter.
 */
export function isJsonMediaType(contentType: string, orSuffix = false): boolean {
  if (contentType === 'application/json') return true;
  const type = utf8MediaType(contentType);
  return type !== undefined && (orSuffix ? JSON_OR_SUFFIX : JSON_TYPE).test(type);
}

/** The type and subtype of a Content-Type, in lower case; undefined where it is none, or names a charset that is not UTF-8. */
export function utf8MediaType(contentType: string): string | undefined {
  if (contentType.length > MAX_LENGTH) return undefined;
  const match = MEDIA_TYPE.exec(contentType);
  if (match === null) return undefined;
  for (const [, name, value] of (match[2] ?? '').matchAll(EACH_PARAMETER)) {
    if (name?.toLowerCase() === 'charset' && !isUtf8(value ?? '')) return undefined;
  }
  return (match[1] ?? '').toLowerCase();
}

function isUtf8(charset: string): boolean {
  const bare = charset.startsWith('"') ? charset.slice(1, -1).replaceAll(/\\(.)/g, '$1') : charset;
  return bare.toLowerCase() === 'utf-8';
}
