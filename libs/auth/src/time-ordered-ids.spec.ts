import { describe, expect, it } from '@jest/globals';
import { randomPool, timeOrderedIds } from './api-key.ts';

const ones = (bytes: number) => Buffer.alloc(bytes, 0xff);

describe('time-ordered ids', () => {
  it('are a prefix and a UUIDv7: milliseconds, a counter and random bits', () => {
    let now = 0x0123456789ab;
    const newId = timeOrderedIds(() => now + 0.75, ones);
    // Version and variant (RFC 9562) are at digits 13 and 17.
    expect(newId('key_')).toBe('key_0123456789ab7000bfffffffffffffff');
    expect(newId('key_')).toBe('key_0123456789ab7001bfffffffffffffff');
    now += 1;
    expect(newId('')).toBe('0123456789ac7000bfffffffffffffff');
  });

  it('have the format of the example of RFC 9562 A.6', () => {
    const newId = timeOrderedIds(
      () => 0x017f22e279b0,
      () => Buffer.from('18c4dc0c0c07398f', 'hex'),
    );
    // The example uses random bits as counter, so its third group differs.
    expect(newId('')).toBe('017f22e279b0700098c4dc0c0c07398f');
  });

  it('sort by creation, also within a millisecond and when the clock steps back', () => {
    let now = Date.UTC(2026, 0, 1);
    const newId = timeOrderedIds(() => now, randomPool());
    const made: string[] = [];
    for (let count = 0; count < 70_000; count += 1) made.push(newId('rsk_'));
    now -= 1000;
    made.push(newId('rsk_'));
    now += 5000;
    made.push(newId('rsk_'));
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
  });
});

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
