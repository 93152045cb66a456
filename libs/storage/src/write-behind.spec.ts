import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { writeBehind } from './write-behind.ts';

function setUp(answer: () => Promise<void> = () => Promise.resolve()) {
  const writes: [string, number][][] = [];
  const failures: unknown[] = [];
  const writing = writeBehind<number>({
    write: (batch) => (writes.push([...batch]), answer()),
    delayMs: 100,
    mostWaiting: 2,
    onFailure: (error, batch) => failures.push([error, batch.size]),
  });
  return { writing, writes, failures };
}

afterEach(() => {
  jest.useRealTimers();
});

describe('writing behind', () => {
  it('writes by itself, a moment after the first put, the last value of each key', async () => {
    jest.useFakeTimers();
    const { writing, writes } = setUp();
    writing.put('a', 1);
    jest.advanceTimersByTime(99);
    writing.put('b', 2);
    writing.put('a', 3);
    expect(writes).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(writes).toEqual([
      [
        ['a', 3],
        ['b', 2],
      ],
    ]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(writes).toHaveLength(1);
  });

  it('drops new keys where too many wait, and says so; a key that waits is still changed', async () => {
    const { writing, writes } = setUp();
    expect([writing.put('a', 1), writing.put('b', 2), writing.put('c', 3), writing.put('a', 4)]).toEqual([
      ...[true, true, false, true],
    ]);
    expect([writing.get('a'), writing.get('c')]).toEqual([4, undefined]);
    await writing.flush();
    expect(writes[0]).toEqual(Object.entries({ a: 4, b: 2 }));
  });

  it('drops a batch that fails, tells of it, and goes on with the next', async () => {
    let isAway = true;
    const away = new Error('away');
    const { writing, writes, failures } = setUp(() => (isAway ? Promise.reject(away) : Promise.resolve()));
    writing.put('a', 1);
    await writing.flush();
    isAway = false;
    writing.put('b', 2);
    await writing.flush();
    expect(writes.map(([first]) => first)).toEqual(Object.entries({ a: 1, b: 2 }));
    expect(failures).toEqual([[away, 1]]);
  });

  it('writes one batch after the other', async () => {
    const ends: (() => void)[] = [];
    const { writing, writes } = setUp(() => new Promise((resolve) => ends.push(resolve)));
    writing.put('a', 1);
    const first = writing.flush();
    writing.put('b', 2);
    const second = writing.flush();
    await new Promise(setImmediate);
    expect(writes).toHaveLength(1);
    ends[0]!();
    await first;
    await new Promise(setImmediate);
    expect(writes).toHaveLength(2);
    ends[1]!();
    await second;
  });

  it('writes the last values when it is closed, and takes no more', async () => {
    const { writing, writes } = setUp();
    writing.put('a', 1);
    await writing.close();
    expect(writing.put('b', 2)).toBe(false);
    await writing.flush();
    expect(writes).toHaveLength(1);
  });
});
