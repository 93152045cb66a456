import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BoundedMap } from './bounded-map.ts';

type Step = readonly ['set' | 'delete' | 'clear', number];

/** Reference implementation with a list. */
function expected(most: number, steps: readonly Step[]): [number, number][] {
  let entries: [number, number][] = [];
  for (const [at, [step, key]] of steps.entries()) {
    const known = entries.find(([each]) => each === key);
    if (step === 'clear') entries = [];
    else if (step === 'delete') entries = entries.filter(([each]) => each !== key);
    else if (known !== undefined) known[1] = at;
    else entries = [...entries, [key, at] as [number, number]].slice(-most);
  }
  return entries;
}

describe('BoundedMap', () => {
  it('drops the entry that was set first, even if it was replaced since', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 1).set('a', 2).set('c', 1);
    expect([...map]).toEqual([
      ['b', 1],
      ['c', 1],
    ]);
  });

  it('equals a list after any sets, replacements, deletes and clears', () => {
    const step = fc.tuple(
      fc.oneof({ weight: 20, arbitrary: fc.constantFrom('set', 'set', 'delete') }, fc.constant('clear')),
      fc.nat(12),
    ) as fc.Arbitrary<Step>;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 200 }), (most, steps) => {
        const map = new BoundedMap<number, number>(most);
        for (const [at, [kind, key]] of steps.entries()) {
          if (kind === 'set') map.set(key, at);
          else if (kind === 'delete') map.delete(key);
          else map.clear();
        }
        expect([...map]).toEqual(expected(most, steps));
      }),
    );
  });

  it('rejects a size of 0', () => {
    expect(() => new BoundedMap(0)).toThrow('room for one entry');
  });
});
