import { describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import type { LimitStore, Policy } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';
import { GcraStore } from './gcra-store.ts';

const policy: Policy = { name: 'address', ratePerSecond: 20, burst: 3 };
const clock = testClock();

describe('GcraStore', () => {
  const store = new GcraStore(memoryLimits({ now: clock.now }), policy, clock.now);

  it('reports the tokens missing from the burst as hits, and burst + 1 for a refusal', async () => {
    const hits: number[] = [];
    for (let count = 0; count < 4; count += 1) hits.push((await store.increment('k')).totalHits);
    expect(hits).toEqual([1, 2, 3, 4]);
    expect((await store.increment('k')).resetTime?.getTime()).toBe(clock.now() + 1000);
  });

  it('charges the named bucket, once', async () => {
    const charged: unknown[] = [];
    const inner = memoryLimits({ now: clock.now });
    const recording: LimitStore = {
      charge: (charges, cost) => {
        charged.push([charges, cost]);
        return inner.charge(charges, cost);
      },
    };
    await new GcraStore(recording, policy, clock.now).increment('case-gate:address:192.0.2.1');
    expect(charged).toEqual([[[{ bucket: 'case-gate:address:192.0.2.1', policy }], 1]]);
  });

  it('refuses decrement and resetKey', () => {
    expect(() => store.decrement()).toThrow('cannot be taken back');
    expect(() => store.resetKey()).toThrow('cannot be reset');
  });
});
