import { randomFillSync } from 'node:crypto';

/** Random bytes taken from 64 KiB blocks: one call to the system's generator per block. */
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

const MAX_PER_MS = 0x1000;

/**
 * The 16 bytes of a UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, a 12-bit counter (section 6.2, method 1)
 * and 62 random bits. Ids of one generator sort by creation, whatever the clock does, and are unguessable.
 * @param now milliseconds since the epoch, with or without a fraction.
 * @param random returns that many random bytes; a `randomPool`.
 */
export function timeOrderedBytes(now: () => number, random: (bytes: number) => Uint8Array): () => Buffer {
  let lastMs = 0;
  let count = 0;
  return () => {
    const atMs = Math.max(Math.floor(now()), lastMs);
    count = atMs === lastMs ? count + 1 : 0;
    // A counter overflow borrows from the next millisecond.
    lastMs = count === MAX_PER_MS ? atMs + 1 : atMs;
    count %= MAX_PER_MS;
    const bytes = Buffer.allocUnsafe(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | count, 6);
    bytes.set(random(8), 8);
    bytes[8] = 0x80 | (bytes[8]! & 0x3f);
    return bytes;
  };
}

/** Ids of a prefix and the 32 hex digits of `timeOrderedBytes`. */
export function timeOrderedIds(now: () => number, random: (bytes: number) => Uint8Array): (prefix: string) => string {
  const next = timeOrderedBytes(now, random);
  return (prefix) => prefix + next().toString('hex');
}
