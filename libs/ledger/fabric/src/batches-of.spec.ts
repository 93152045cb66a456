import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { batchesOf } from './batches-of.ts';

const item = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), bytes: fc.nat(20) });
const limitsOf = (maxCount: number, maxBytes: number) => ({
  maxCount,
  maxBytes,
  bytesOf: ({ bytes }: { bytes: number }) => bytes,
  keyOf: ({ id }: { id: string }) => id,
});

describe('batchesOf', () => {
  it('keeps every item, in order, within the limits, and no id twice in a batch', () => {
    fc.assert(
      fc.property(
        fc.array(item),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 30 }),
        (items, most, bytes) => {
          const batches = batchesOf(items, limitsOf(most, bytes));
          expect(batches.flat()).toEqual(items);
          for (const batch of batches) {
            expect(batch.length).toBeGreaterThan(0);
            expect(batch.length).toBeLessThanOrEqual(most);
            expect(new Set(batch.map(({ id }) => id)).size).toBe(batch.length);
            const sum = batch.reduce((total, one) => total + one.bytes, 0);
            expect(sum <= bytes || batch.length === 1).toBe(true);
          }
        },
      ),
    );
  });

  it('begins no batch before it must', () => {
    const items = ['a', 'b', 'a', 'c'].map((id) => ({ id, bytes: 1 }));
    expect(batchesOf(items, limitsOf(3, 10)).map((batch) => batch.map(({ id }) => id))).toEqual([
      ['a', 'b'],
      ['a', 'c'],
    ]);
    expect(batchesOf(items.slice(4), limitsOf(1, 1))).toEqual([]);
  });
});
