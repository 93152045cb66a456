import { sha256Text, type Bytes } from '#platform';
import { CanonicalWriter } from './canonical-writer.ts';
import type { JsonValue } from './json-value.ts';

/** One buffer for all calls: they are synchronous, and nothing of it leaves before the next call. */
const writer = new CanonicalWriter();

/**
 * The RFC 8785 (JCS) form of a value: members in the order of UTF-16 code units, numbers and strings as ECMAScript prints
 * them, no blanks.
 * @throws TypeError for what JSON cannot say: numbers that are not finite, half of a surrogate pair, undefined, objects
 * that are not plain.
 */
export function canonical(value: JsonValue): string {
  return writer.write(value, textOf);
}

/** SHA-256 over the UTF-8 bytes of the canonical form, 64 lower hex digits. @throws TypeError as `canonical` does. */
export function canonicalHash(value: JsonValue): string {
  return writer.write(value, hashOf);
}

function textOf(bytes: Bytes): string {
  return bytes.toString('utf8');
}

function hashOf(bytes: Bytes): string {
  return sha256Text(bytes, 'hex');
}
