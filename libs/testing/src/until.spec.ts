import { describe, expect, it } from '@jest/globals';
import { testClock } from './test-clock.ts';
import { testIds } from './test-ids.ts';
import { until } from './until.ts';

describe('until', () => {
  it('polls until the condition is true, also if it throws at first', async () => {
    let looks = 0;
    await until(() => {
      looks += 1;
      if (looks === 1) throw new Error('not there yet');
      return looks === 3;
    });
    expect(looks).toBe(3);
  });

  it('throws after the timeout, with the awaited condition and the last error', async () => {
    const cause = new Error('refused');
    const waiting = until(() => Promise.reject(cause), { timeoutMs: 30, what: 'the server' });
    await expect(waiting).rejects.toMatchObject({ message: 'Timed out after 30 ms waiting for the server.', cause });
  });
});

describe('testClock', () => {
  it('does not move by itself', () => {
    const clock = testClock('2026-02-28T23:59:59.500Z');
    expect(clock.now()).toBe(Date.UTC(2026, 1, 28, 23, 59, 59, 500));
    clock.advance(500);
    expect(new Date(clock.now()).toISOString()).toBe('2026-03-01T00:00:00.000Z');
    expect(() => testClock('yesterday')).toThrow('"yesterday" is not a time.');
  });
});

describe('testIds', () => {
  it('counts over all prefixes, from one per instance', () => {
    const newId = testIds();
    expect([newId('key_'), newId('evt_'), newId('key_')]).toEqual(['key_000001', 'evt_000002', 'key_000003']);
    expect(testIds()('key_')).toBe('key_000001');
  });
});
