import { randomFillSync } from 'node:crypto';

/** Random bytes cut from blocks: one call into the system's generator per 64 KiB instead of one per salt. */
export function randomPool(
  fill: (block: Buffer) => Buffer = randomFillSync,
  blockBytes = 65_536,
): (bytes: number) => Buffer {
  let block: Buffer = Buffer.alloc(0);
  let at = 0;
  return (bytes) => {
    if (at + bytes > block.length) {
      block = fill(Buffer.allocUnsafeSlow(blockBytes));
      at = 0;
    }
    at += bytes;
    return block.subarray(at - bytes, at);
  };
}

const MOST_IN_ONE_MS = 0x1000;

/**
 * The 16 bytes of a UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, 12 that count within one (section 6.2, method 1)
 * and 62 random bits. Those of one maker sort in the order of their making, whatever the clock does; nobody can guess one.
 * @param now milliseconds since the epoch, with a fraction or without.
 * @param random gives that many random bytes; a `randomPool`.
 */
export function timeOrderedBytes(now: () => number, random: (bytes: number) => Uint8Array): () => Buffer {
  let lastMs = 0;
  let count = 0;
  return () => {
    const atMs = Math.max(Math.floor(now()), lastMs);
    count = atMs === lastMs ? count + 1 : 0;
    // What one millisecond cannot count borrows the next.
    lastMs = count === MOST_IN_ONE_MS ? atMs + 1 : atMs;
    count %= MOST_IN_ONE_MS;
    const bytes = Buffer.allocUnsafe(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | count, 6);
    bytes.set(random(8), 8);
    bytes[8] = 0x80 | (bytes[8]! & 0x3f);
    return bytes;
  };
}

/** Ids made of a prefix and the 32 hex digits of `timeOrderedBytes`. */
export function timeOrderedIds(now: () => number, random: (bytes: number) => Uint8Array): (prefix: string) => string {
  const next = timeOrderedBytes(now, random);
  return (prefix) => prefix + next().toString('hex');
}
