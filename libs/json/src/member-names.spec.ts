import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashOfKey, WideNames } from './member-names.ts';

/** Names at the offsets 0, 1, 2 and so on. */
function holding(names: readonly string[]) {
  let asked = 0;
  const wide = new WideNames({
    keyAt(place) {
      asked++;
      return names[place] ?? '';
    },
  });
  return { wide, asked: () => asked };
}

/** The expected results from a set of strings. */
function newOnes(names: readonly string[]): boolean[] {
  const seen = new Set<string>();
  return names.map((name) => seen.size < seen.add(name).size);
}

describe('WideNames', () => {
  it.each([
    ['a good hash', hashOfKey],
    ['one hash for all', () => 7],
    ['three hashes for all', (name: string) => name.length % 3],
    ['hashes that fill one stretch of the table', (name: string) => Number.parseInt(name, 36) % 200],
    ['hashes that begin at one slot of the table', (name: string) => Number.parseInt(name, 36) << 20],
  ])('detects duplicates, with %s', (_what, hashOf) => {
    const name = fc.nat({ max: 2000 }).map((index) => index.toString(36));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 600, size: 'max' }), (names) => {
        const { wide } = holding(names);
        expect(names.map((text, place) => wide.add(place, hashOf(text)))).toEqual(newOnes(names));
      }),
      { numRuns: 30 },
    );
  });

  it('creates no strings while hashes differ', () => {
    const names = Array.from({ length: 5000 }, (_, index) => `n${index}`);
    const { wide, asked } = holding(names);
    for (const [place, name] of names.entries()) expect(wide.add(place, hashOfKey(name))).toBe(true);
    expect(asked()).toBe(0);
    expect(wide.add(17, hashOfKey('n17'))).toBe(false);
  });

  it('creates each string a few times at most, whatever the hashes', () => {
    const names = Array.from({ length: 5000 }, (_, index) => `n${index}`);
    for (const hashOf of [() => 0, (index: number) => index << 20, (index: number) => index >> 6]) {
      const { wide, asked } = holding(names);
      for (const place of names.keys()) expect(wide.add(place, hashOf(place))).toBe(true);
      expect(asked()).toBeLessThan(3 * names.length);
    }
  });
});
