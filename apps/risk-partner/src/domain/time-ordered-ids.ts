import { randomPool } from '@sealgate/auth';

/**
 * Ids that sort by when they were made: a prefix, and in hex 48 bits of milliseconds, 16 that count within one, and 64
 * random ones. So those of one process sort in the order in which they were made.
 */
export function timeOrderedIds(
  now: () => number,
  random: (bytes: number) => Uint8Array = randomPool(),
): (prefix: string) => string {
  let lastMs = 0;
  let sequence = 0;
  return (prefix) => {
    const atMs = Math.max(now(), lastMs);
    sequence = atMs === lastMs ? sequence + 1 : 0;
    // More than 65,536 in a millisecond borrow the next one.
    lastMs = sequence > 0xffff ? atMs + 1 : atMs;
    if (sequence > 0xffff) sequence = 0;
    const bytes = Buffer.alloc(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(sequence, 6);
    bytes.set(random(8), 8);
    return prefix + bytes.toString('hex');
  };
}
