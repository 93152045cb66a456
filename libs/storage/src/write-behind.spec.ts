import { mock } from 'node:test';
import { describe, expect, it } from '@jest/globals';
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

describe('writeBehind', () => {
  it('writes the last value of each key after the delay from the first put', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { writing, writes } = setUp();
    writing.put('a', 1);
    mock.timers.tick(99);
    writing.put('b', 2);
    writing.put('a', 3);
    expect(writes).toEqual([]);
    mock.timers.tick(1);
    await new Promise(setImmediate);
    expect(writes).toEqual([
      [
        ['a', 3],
        ['b', 2],
      ],
    ]);
    mock.timers.tick(1_000);
    mock.timers.reset();
    await new Promise(setImmediate);
    expect(writes).toHaveLength(1);
  });

  it('refuses new keys when too many wait; a waiting key can still be changed', async () => {
    const { writing, writes } = setUp();
    expect([writing.put('a', 1), writing.put('b', 2), writing.put('c', 3), writing.put('a', 4)]).toEqual([
      ...[true, true, false, true],
    ]);
    expect([writing.get('a'), writing.get('c')]).toEqual([4, undefined]);
    await writing.flush();
    expect(writes[0]).toEqual(Object.entries({ a: 4, b: 2 }));
  });

  it('drops a failed batch, reports it, and continues with the next', async () => {
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

  it('writes batches one after the other', async () => {
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

  it('writes the waiting values on close and refuses more', async () => {
    const { writing, writes } = setUp();
    writing.put('a', 1);
    await writing.close();
    expect(writing.put('b', 2)).toBe(false);
    await writing.flush();
    expect(writes).toHaveLength(1);
  });
});
