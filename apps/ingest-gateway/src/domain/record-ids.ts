import { hash } from 'node:crypto';
import { timeOrderedBytes } from '@sealgate/auth';

/** Assigns ids to the records of one request, by position. */
export type RecordIds = (position: number) => string;

/** The possible first digits of the variant. */
const VARIANT = '89ab';
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The text form of 16 bytes with this version and the RFC 9562 variant. */
export function formatUuid(bytes: Uint8Array, version: 7 | 8): string {
  let text = '';
  for (let at = 0; at < 16; at += 1) {
    let byte = bytes[at]!;
    if (at === 6) byte = (byte & 0x0f) | (version << 4);
    if (at === 8) byte = (byte & 0x3f) | 0x80;
    if (at === 4 || at === 6 || at === 8 || at === 10) text += '-';
    text += HEX[byte]!;
  }
  return text;
}

/**
 * UUIDv8 (RFC 9562 section 5.8) from SHA-256 over a seed and the position. The seed is a keyed hash of network, key
 * family and Idempotency-Key: nobody else can guess or occupy the ids, and the same request gets the same ids even
 * after all caches are lost. One hash yields two ids.
 */
export function derivedIds(seed: Buffer): RecordIds {
  const input = Buffer.alloc(seed.length + 4);
  input.set(seed);
  let made = { pair: -1, digits: '' };
  return (position) => {
    const pair = position >> 1;
    if (made.pair !== pair) {
      input.writeUInt32BE(pair, seed.length);
      made = { pair, digits: hash('sha256', input) };
    }
    return uuidOfDigits(made.digits, (position & 1) * 32);
  };
}

/** The text form of 32 hexadecimal digits with version 8 and the RFC 9562 variant. */
function uuidOfDigits(digits: string, from: number): string {
  const part = (start: number, end: number) => digits.slice(from + start, from + end);
  const unit = digits.charCodeAt(from + 16);
  // The two low bits of the digit: a is 0x61 and stands for ten.
  const variant = VARIANT.charAt((unit > 0x39 ? unit + 1 : unit) & 3);
  return `${part(0, 8)}-${part(8, 12)}-8${part(13, 16)}-${variant}${part(17, 20)}-${part(20, 32)}`;
}

/** UUIDv7 (RFC 9562 section 5.7): ordered by time, unguessable. */
export function freshUuids(now: () => number, random: (bytes: number) => Uint8Array): RecordIds {
  const next = timeOrderedBytes(now, random);
  return () => formatUuid(next(), 7);
}
