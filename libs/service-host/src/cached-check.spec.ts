import { describe, expect, it } from '@jest/globals';
import { cachedCheck } from './run-surface.ts';

describe('cachedCheck', () => {
  const make = (check: () => Promise<string>, deadlineMs = 1000) => {
    let nowMs = 0;
    const ask = cachedCheck({ check, otherwise: 'no answer', deadlineMs, keepMs: 900, now: () => nowMs });
    return { ask, pass: (ms: number) => (nowMs += ms) };
  };

  it('runs once at a time, and again when its result is stale', async () => {
    let asked = 0;
    const { ask, pass } = make(async () => `answer ${(asked += 1)}`);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(['answer 1', 'answer 1', 'answer 1']);
    pass(899);
    expect(await ask()).toBe('answer 1');
    pass(1);
    expect(await ask()).toBe('answer 2');
  });

  it('resolves at its deadline without waiting for the check', async () => {
    const { ask } = make(() => new Promise(() => undefined), 20);
    expect(await ask()).toBe('no answer');
  });

  it('treats a failure like a timeout', async () => {
    expect(await make(() => Promise.reject(new Error('away'))).ask()).toBe('no answer');
  });
});
