import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { framed } from './keyed-hasher.ts';

describe('framed', () => {
  it('prefixes each text with its length in UTF-8 bytes', () => {
    expect(framed([])).toBe('');
    expect(framed([''])).toBe('0:');
    expect(framed(['ab', 'c'])).toBe('2:ab1:c');
    expect(framed(['a', 'bc'])).toBe('1:a2:bc');
    expect(framed(['ü', '😀'])).toBe('2:ü4:😀');
  });

  it('encodes different lists differently, in UTF-8 too', () => {
    const list = fc.array(fc.string({ unit: fc.constantFrom('1', '2', ':', 'a', 'ü') }), { maxLength: 4 });
    fc.assert(
      fc.property(list, list, (left, right) => {
        const same = Buffer.from(framed(left)).equals(Buffer.from(framed(right)));
        expect(same).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses a lone surrogate, which UTF-8 would replace', () => {
    expect(() => framed(['ok', '\ud800'])).toThrow('lone surrogate');
  });
});
