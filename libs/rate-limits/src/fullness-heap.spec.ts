import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Filling } from './fullness-heap.ts';
import { FullnessHeap } from './fullness-heap.ts';

function filling(name: string, fullAtMicros: number): Filling {
  return { name, fullAtMicros, knownFullAtMicros: 0 };
}

describe('FullnessHeap', () => {
  it('removes entries in order of time, although times move later after they were added', () => {
    const moments = fc.array(fc.tuple(fc.nat({ max: 50 }), fc.nat({ max: 50 })), { maxLength: 60 });
    fc.assert(
      fc.property(moments, (pairs) => {
        const heap = new FullnessHeap<Filling>();
        const entries = pairs.map(([start], index) => filling(String(index), start));
        for (const entry of entries) heap.add(entry);
        for (const [index, [, later]] of pairs.entries()) {
          const entry = entries[index];
          if (entry !== undefined) entry.fullAtMicros += later;
        }
        const order: number[] = [];
        for (let next = heap.removeFirst(); next !== undefined; next = heap.removeFirst())
          order.push(next.fullAtMicros);
        expect(order).toEqual(pairs.map(([start, later]) => start + later).sort((a, b) => a - b));
      }),
    );
  });

  it('is empty at first and after clear', () => {
    const heap = new FullnessHeap<Filling>();
    expect(heap.first()).toBeUndefined();
    expect(heap.removeFirst()).toBeUndefined();
    heap.add(filling('a', 1));
    heap.clear();
    expect(heap.size).toBe(0);
    expect(heap.first()).toBeUndefined();
  });
});
