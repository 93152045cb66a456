import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { derivedIds, formatUuid, freshUuids } from './record-ids.ts';

describe('record ids', () => {
  it('writes version and variant where RFC 9562 says', () => {
    expect(formatUuid(Buffer.alloc(16, 0xff), 7)).toBe('ffffffff-ffff-7fff-bfff-ffffffffffff');
    expect(formatUuid(Buffer.alloc(16, 0), 8)).toBe('00000000-0000-8000-8000-000000000000');
  });

  it('derives the same ids from the same seed, others from another seed or position', () => {
    const one = derivedIds(Buffer.alloc(32, 1));
    const again = derivedIds(Buffer.alloc(32, 1));
    expect(one(0)).toBe(again(0));
    expect(new Set([one(0), one(1), one(256), derivedIds(Buffer.alloc(32, 2))(0)]).size).toBe(4);
    expect(one(0)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('derives the ids that RFC 9562 makes of each half of SHA-256 over seed and pair, for all digits', () => {
    for (let byte = 0; byte < 64; byte += 1) {
      const seed = Buffer.alloc(32, byte);
      const ids = derivedIds(seed);
      for (const position of [0, 1, 2, 9_999]) {
        const pair = Buffer.alloc(4);
        pair.writeUInt32BE(Math.floor(position / 2));
        const digest = createHash('sha256').update(seed).update(pair).digest();
        const half = position % 2 === 0 ? digest.subarray(0, 16) : digest.subarray(16);
        expect(ids(position)).toBe(formatUuid(half, 8));
      }
    }
  });

  it('orders fresh ids by time: the example of RFC 9562 A.6 has this time', () => {
    const ids = freshUuids(
      () => 0x017f22e279b0,
      () => Buffer.from('18c4dc0c0c07398f', 'hex'),
    );
    expect([ids(0), ids(0)]).toEqual(['017f22e2-79b0-7000-98c4-dc0c0c07398f', '017f22e2-79b0-7001-98c4-dc0c0c07398f']);
  });
});
