import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Grouped } from './grouped.ts';

/** Runs that end on demand. */
function scripted(options: { most?: number; running?: number; keyOf?: (item: string) => string | undefined } = {}) {
  const runs: { items: readonly string[]; end: (how?: Error) => void }[] = [];
  const grouped = new Grouped<string, string>({
    most: 10,
    running: 1,
    ...options,
    run: (items) =>
      new Promise((resolve, reject) => {
        runs.push({
          items,
          end: (error) => (error ? reject(error) : resolve(items.map((item) => item.toUpperCase()))),
        });
      }),
  });
  return { grouped, runs };
}

describe('grouped calls', () => {
  it('share a call if made in the same turn, and collect while one runs', async () => {
    const { grouped, runs } = scripted();
    const first = ['a', 'b'].map((item) => grouped.add(item));
    await turn();
    const second = ['c', 'd'].map((item) => grouped.add(item));
    await turn();
    expect(runs.map(({ items }) => items)).toEqual([['a', 'b']]);
    runs[0]!.end();
    expect(await Promise.all(first)).toEqual(['A', 'B']);
    await turn();
    expect(runs[1]!.items).toEqual(['c', 'd']);
    runs[1]!.end();
    expect(await Promise.all(second)).toEqual(['C', 'D']);
    await turn();
    expect(grouped.idle).toBe(true);
  });

  it('respect the limits of size and concurrency', async () => {
    const { grouped, runs } = scripted({ most: 2, running: 2 });
    const all = ['a', 'b', 'c', 'd', 'e'].map((item) => grouped.add(item));
    await turn();
    await turn();
    expect(runs.map(({ items }) => items)).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    runs[0]!.end();
    runs[1]!.end();
    await turn();
    await turn();
    runs[2]!.end();
    expect(await Promise.all(all)).toEqual(['A', 'B', 'C', 'D', 'E']);
  });

  it('never contain a key twice', async () => {
    const { grouped, runs } = scripted({ keyOf: (item) => item[0] });
    const all = ['a1', 'a2', 'b1'].map((item) => grouped.add(item));
    await turn();
    expect(runs[0]!.items).toEqual(['a1', 'b1']);
    runs[0]!.end();
    await turn();
    await turn();
    expect(runs[1]!.items).toEqual(['a2']);
    runs[1]!.end();
    await Promise.all(all);
  });

  it('fail together, and later calls still run', async () => {
    const { grouped, runs } = scripted();
    const failing = [grouped.add('a'), grouped.add('b')].map((promise) =>
      promise.catch((error: Error) => error.message),
    );
    await turn();
    const next = grouped.add('c');
    runs[0]!.end(new Error('no'));
    expect(await Promise.all(failing)).toEqual(['no', 'no']);
    await turn();
    runs[1]!.end();
    expect(await next).toBe('C');
  });
});
