import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import fc from 'fast-check';
import { limitStoreContract } from './limit-store.contract.ts';
import type { Charge, Policy } from './limits.ts';
import { FullnessHeap, memoryLimits } from './memory-limits.ts';

const policy: Policy = { name: 'key', ratePerSecond: 10, burst: 100 };

function on(bucket: string): Charge[] {
  return [{ bucket, policy }];
}

describe('memoryLimits', () => {
  limitStoreContract({
    runs: 200,
    open: () => {
      const clock = testClock();
      const store = memoryLimits({ now: clock.now });
      return Promise.resolve({ store, advance: clock.advance, close: () => Promise.resolve() });
    },
  });
});

describe('memoryLimits of one replica of several', () => {
  it('fills at its share of the rate, in exact thirds', () => {
    const clock = testClock();
    const limits = memoryLimits({ now: clock.now, replicas: 3 });
    expect(limits.decide(on('a'), 100)).toMatchObject({ admitted: true, remaining: 0, resetSeconds: 30 });
    clock.advance(299);
    expect(limits.decide(on('a'), 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
    clock.advance(1);
    expect(limits.decide(on('a'), 1)).toMatchObject({ admitted: true, remaining: 0 });
  });

  it('still admits a batch of the whole burst', () => {
    const limits = memoryLimits({ now: testClock().now, replicas: 1000 });
    expect(limits.decide(on('a'), 100).admitted).toBe(true);
  });

  it.each([0, 1.5, 1001])('rejects %d replicas', (replicas) => {
    expect(() => memoryLimits({ now: Date.now, replicas })).toThrow('Replicas are 1 to 1,000.');
  });
});

describe('memoryLimits with startEmpty', () => {
  it('admits one request of a bucket at any cost, then the rate', () => {
    const clock = testClock();
    const limits = memoryLimits({ now: clock.now, startEmpty: true });
    expect(limits.decide(on('a'), 1)).toMatchObject({ admitted: true, remaining: 0, resetSeconds: 10 });
    expect(limits.decide(on('a'), 1)).toMatchObject({ admitted: false, retryAfterSeconds: 1 });
    expect(limits.decide(on('b'), 100)).toMatchObject({ admitted: true, remaining: 0 });
    clock.advance(100);
    expect(limits.decide(on('a'), 1).admitted).toBe(true);
    expect(limits.decide(on('a'), 1).admitted).toBe(false);
  });

  it('refuses a first request above the burst', () => {
    const limits = memoryLimits({ now: testClock().now, startEmpty: true });
    expect(limits.decide(on('a'), 101)).toMatchObject({ admitted: false, retryAfterSeconds: 10 });
  });

  it('treats a new bucket as filling since the start', () => {
    const clock = testClock();
    const limits = memoryLimits({ now: clock.now, startEmpty: true });
    clock.advance(2000);
    expect(limits.decide(on('a'), 0)).toMatchObject({ remaining: 20 });
    clock.advance(60_000);
    expect(limits.decide(on('b'), 0)).toMatchObject({ remaining: 100 });
    limits.reset();
    expect(limits.decide(on('b'), 0)).toMatchObject({ remaining: 0 });
  });

  it('keeps the free first request of a bucket if another bucket refused it', () => {
    const limits = memoryLimits({ now: testClock().now, startEmpty: true });
    limits.decide(on('a'), 1);
    expect(limits.decide([...on('a'), ...on('b')], 1).admitted).toBe(false);
    expect(limits.decide(on('b'), 1).admitted).toBe(true);
  });
});

describe('the memory of memoryLimits', () => {
  it('drops full buckets first, even if they are not the oldest', () => {
    const clock = testClock();
    const limits = memoryLimits({ now: clock.now, maxBuckets: 3 });
    limits.decide(on('drained'), 100);
    limits.decide(on('idle'), 1);
    limits.decide(on('half'), 50);
    clock.advance(1000);
    limits.decide(on('new'), 1);
    expect(limits.size).toBe(3);
    expect(limits.decide(on('drained'), 0)).toMatchObject({ remaining: 10 });
    expect(limits.decide(on('half'), 0)).toMatchObject({ remaining: 60 });
  });

  it('drops the one that is full soonest if none is full', () => {
    const limits = memoryLimits({ now: testClock().now, maxBuckets: 2 });
    limits.decide(on('drained'), 100);
    limits.decide(on('half'), 50);
    limits.decide(on('drained-too'), 100);
    expect(limits.decide(on('drained'), 1).admitted).toBe(false);
    expect(limits.decide(on('half'), 0)).toMatchObject({ remaining: 100 });
  });

  it('stays within its bound and drops idle buckets', () => {
    const clock = testClock();
    const limits = memoryLimits({ now: clock.now, maxBuckets: 100 });
    for (let count = 0; count < 1000; count += 1) limits.decide(on(`n${count}`), 1);
    expect(limits.size).toBe(100);
    clock.advance(1000);
    for (let count = 0; count < 60; count += 1) limits.decide(on(`m${count}`), 1);
    expect(limits.size).toBe(60);
  });

  it('stores nothing for refusals and charges of 0', () => {
    const limits = memoryLimits({ now: testClock().now });
    limits.decide(on('a'), 101);
    limits.decide(on('b'), 0);
    expect(limits.size).toBe(0);
  });

  it('decides synchronously or throws', () => {
    expect(() => memoryLimits({ now: Date.now }).decide([], 1)).toThrow(RangeError);
    expect(() => memoryLimits({ now: Date.now, maxBuckets: 0 })).toThrow('At least one bucket');
  });
});

function filling(name: string, fullAtMicros: number) {
  return { name, fullAtMicros, knownFullAtMicros: 0 };
}

describe('FullnessHeap', () => {
  it('removes entries in order of time, although times move later after they were added', () => {
    const moments = fc.array(fc.tuple(fc.nat({ max: 50 }), fc.nat({ max: 50 })), { maxLength: 60 });
    fc.assert(
      fc.property(moments, (pairs) => {
        const heap = new FullnessHeap<ReturnType<typeof filling>>();
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
    const heap = new FullnessHeap<ReturnType<typeof filling>>();
    expect(heap.first()).toBeUndefined();
    expect(heap.removeFirst()).toBeUndefined();
    heap.add(filling('a', 1));
    heap.clear();
    expect(heap.size).toBe(0);
    expect(heap.first()).toBeUndefined();
  });
});
