import { describe, expect, it } from '@jest/globals';
import { amountsOf, isFilled } from './amounts.ts';

describe('amounts', () => {
  it('are a thousand times as many at L as at S, and a hundred times as many as at M', () => {
    expect(amountsOf('S')).toMatchObject({ records: 5_000, events: 5_000, cases: 500, risks: 1_000 });
    expect(amountsOf('M')).toMatchObject({ records: 50_000, networks: 50, decisions: 30_000 });
    expect(amountsOf('L')).toMatchObject({ records: 5_000_000, channels: 300, keys: 20_000, venues: 2_000 });
  });

  it('are at least two, so that nothing is alone', () => {
    expect(amountsOf('S')).toMatchObject({ channels: 2, organisations: 2, venues: 2 });
  });

  it('are reached if hardly any is missing', () => {
    expect([9_900, 10_000].map((made) => isFilled(made, 10_000))).toEqual([true, true]);
    expect([9_899, 10_001].map((made) => isFilled(made, 10_000))).toEqual([false, false]);
  });
});
