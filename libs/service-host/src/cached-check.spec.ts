import { describe, expect, it } from '@jest/globals';
import { cachedCheck } from './cached-check.ts';

describe('a check that is asked often', () => {
  const make = (check: () => Promise<string>, deadlineMs = 1000) => {
    let nowMs = 0;
    const ask = cachedCheck({ check, otherwise: 'no answer', deadlineMs, keepMs: 900, now: () => nowMs });
    return { ask, pass: (ms: number) => (nowMs += ms) };
  };

  it('asks once at a time, and again when its answer is old', async () => {
    let asked = 0;
    const { ask, pass } = make(async () => `answer ${(asked += 1)}`);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(['answer 1', 'answer 1', 'answer 1']);
    pass(899);
    expect(await ask()).toBe('answer 1');
    pass(1);
    expect(await ask()).toBe('answer 2');
  });

  it('ends at its deadline, and does not wait for the answer any more', async () => {
    const { ask } = make(() => new Promise(() => undefined), 20);
    expect(await ask()).toBe('no answer');
  });

  it('takes a failure for no answer', async () => {
    expect(await make(() => Promise.reject(new Error('away'))).ask()).toBe('no answer');
  });
});
