/**
 * Ids of 32 hex digits behind a prefix, in the order of their making by the millisecond and unguessable: 48 bits of time, 74
 * of chance, in the layout of a UUIDv7 (RFC 9562 section 5.7).
 * @param now milliseconds since the epoch, with a fraction or without.
 * @param random gives that many random bytes; a `randomPool`.
 */
export function timeOrderedIds(now: () => number, random: (bytes: number) => Uint8Array): (prefix: string) => string {
  return (prefix) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUIntBE(Math.floor(now()), 0, 6);
    bytes.set(random(10), 6);
    bytes[6] = 0x70 | (bytes[6]! & 0x0f);
    bytes[8] = 0x80 | (bytes[8]! & 0x3f);
    return prefix + bytes.toString('hex');
  };
}
