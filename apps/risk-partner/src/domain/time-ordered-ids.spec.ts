import { describe, expect, it } from '@jest/globals';
import { timeOrderedIds } from './time-ordered-ids.ts';

describe('ids', () => {
  it('sort in the order in which they were made, also within a millisecond and when the clock steps back', () => {
    let now = Date.UTC(2026, 0, 1);
    const newId = timeOrderedIds(() => now);
    const made: string[] = [];
    for (let count = 0; count < 70_000; count += 1) made.push(newId('rsk_'));
    now -= 1000;
    made.push(newId('rsk_'));
    now += 5000;
    made.push(newId('rsk_'));
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
  });

  it('begin with prefix and time, and end in what nobody can guess', () => {
    const newId = timeOrderedIds(
      () => 0x0123456789ab,
      (bytes) => Buffer.alloc(bytes, 0xcd),
    );
    expect([newId('key_'), newId('key_')]).toEqual([
      'key_0123456789ab0000cdcdcdcdcdcdcdcd',
      'key_0123456789ab0001cdcdcdcdcdcdcdcd',
    ]);
  });
});
