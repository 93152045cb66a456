import { Bytes } from '#platform';

/**
 * Member names are compared by key: the unescaped name as UTF-8, one character per byte. A name without escapes is its
 * own key.
 */

/** The key of an escaped name, given with its quotes and one character per byte. */
export function unescapedKey(quoted: string): string {
  const key = String(JSON.parse(quoted));
  // ASCII keys come from ASCII bytes, so reading bytes as characters lost nothing.
  if (Bytes.byteLength(key) === key.length) return key;
  const name = String(JSON.parse(Bytes.from(quoted, 'latin1').toString('utf8')));
  return Bytes.from(name).toString('latin1');
}

/** FNV-1a offset basis; the prime 0x01000193 is multiplied in after each byte. */
export const FIRST_HASH = 0x811c9dc5 | 0;

/** The hash of a key. Equals the hash that a walk computes while reading the name. */
export function hashOfKey(key: string): number {
  let hash = FIRST_HASH;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash;
}
