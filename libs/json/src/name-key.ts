import { Bytes } from '#platform';

/**
 * Member names are compared by their keys: the UTF-8 of what a name means, one character per byte. Of a name without
 * escapes that is the very bytes of the body, so that it costs nothing to make.
 */

/** The key of a name that has escapes, given with its quotes and one character per byte. */
export function unescapedKey(quoted: string): string {
  const key = String(JSON.parse(quoted));
  // What means ASCII is made of ASCII, so nothing was lost by reading bytes as characters.
  if (Bytes.byteLength(key) === key.length) return key;
  const name = String(JSON.parse(Bytes.from(quoted, 'latin1').toString('utf8')));
  return Bytes.from(name).toString('latin1');
}

/** FNV-1a begins with this number and multiplies by 0x01000193 after each byte. */
export const FIRST_HASH = 0x811c9dc5 | 0;

/** The hash of a key, as a walk makes it of the bytes of a name while it reads them. */
export function hashOfKey(key: string): number {
  let hash = FIRST_HASH;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash;
}
