import { timeOrderedBytes } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';

/** Gives the records of one request their ids, by position. */
export type RecordIds = (position: number) => string;

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
 * family and Idempotency-Key, so nobody else can guess or occupy the ids, and the same request names its records the
 * same after every cache was lost. One hash makes two ids.
 */
export function derivedIds(seed: Buffer): RecordIds {
  const input = Buffer.alloc(seed.length + 4);
  input.set(seed);
  let made = { pair: -1, digest: seed };
  return (position) => {
    const pair = position >> 1;
    if (made.pair !== pair) {
      input.writeUInt32BE(pair, seed.length);
      made = { pair, digest: sha256(input) };
    }
    const half = (position & 1) * 16;
    return formatUuid(made.digest.subarray(half, half + 16), 8);
  };
}

/** UUIDv7 (RFC 9562 section 5.7): ordered by time, unguessable. */
export function freshUuids(now: () => number, random: (bytes: number) => Uint8Array): RecordIds {
  const next = timeOrderedBytes(now, random);
  return () => formatUuid(next(), 7);
}
