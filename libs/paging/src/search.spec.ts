import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { foldText, searchOf, searchText } from './search.ts';

describe('folding', () => {
  it.each([
    ['Zürich', 'zurich'],
    ['ﬁnance', 'finance'],
    ['ＡＢＣ', 'abc'],
    ['  two \t words\n', 'two words'],
    ['ÅÉ', 'ae'],
    ['東京', '東京'],
    ['İ', 'i'],
  ])('makes %s the same as %s', (text, folded) => {
    expect(foldText(text)).toBe(folded);
  });

  it('changes nothing a second time', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => foldText(foldText(text)) === foldText(text)));
  });
});

describe('a search', () => {
  it('looks for every word by its sequences of three, and by a pattern', () => {
    expect(searchOf('Späte zAHLung')).toEqual({
      words: ['spate', 'zahlung'],
      grams: ['spa', 'ate', 'zah', 'lun', 'ung'],
      patterns: ['%spate%', '%zahlung%'],
    });
  });

  it('looks for a short word by itself', () => {
    expect(searchOf('ab 京 abc').grams).toEqual(['ab', '京', 'abc']);
  });

  it('takes nothing in a word for a wildcard', () => {
    expect(searchOf('100%_a\\').patterns).toEqual(['%100\\%\\_a\\\\%']);
  });

  it('asks for nothing without a word', () => {
    expect(searchOf(' \u0308 ')).toEqual({ words: [], grams: [], patterns: [] });
  });

  it('finds a part of any word of a row, and its sequences are in that row', () => {
    const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(), (texts, at, length) => {
        const row = searchText(texts);
        const points = Array.from(texts[at % texts.length] ?? '');
        const start = at % points.length;
        const { words, grams } = searchOf(foldText(texts[at % texts.length] ?? '').slice(start, start + 1 + length));
        for (const part of [...words, ...grams]) expect(row).toContain(part);
      }),
    );
  });
});
