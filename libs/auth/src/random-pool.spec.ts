import { describe, expect, it } from '@jest/globals';
import { randomPool } from './time-ordered-ids.ts';

describe('the random pool', () => {
  it('returns every byte of a block once, then fills another block', () => {
    let blocks = 0;
    const take = randomPool((block) => block.fill((blocks += 1)), 8);
    const taken = [take(3), take(3), take(3), take(8)].map((bytes) => [...bytes]);
    expect(taken).toEqual([
      [1, 1, 1],
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 3, 3, 3, 3, 3, 3],
    ]);
  });

  it('never returns the same memory twice', () => {
    const take = randomPool((block) => block.fill(7), 64);
    const first = take(32);
    take(32).fill(1);
    expect(new Set(first)).toEqual(new Set([7]));
  });
});
