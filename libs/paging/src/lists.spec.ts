import { describe, expect, it } from '@jest/globals';
import { csvLine } from './csv.ts';
import { sortingOf, sortText, sortValues } from './sorting.ts';
import { COUNT_LIMIT, totalOf } from './totals.ts';

describe('a total', () => {
  it('is exact up to 10,000', () => {
    expect([0, 9999, 10_000].map(totalOf)).toEqual([0, 9999, 10_000]);
    expect(totalOf(COUNT_LIMIT)).toBe('10000+');
  });
});

describe('an order', () => {
  it('is a field, ascending or descending', () => {
    expect(sortValues(['title', 'at'])).toEqual(['title', '-title', 'at', '-at']);
    expect(sortingOf('title')).toEqual({ field: 'title', descending: false });
    expect(sortingOf('-at')).toEqual({ field: 'at', descending: true });
  });
});

describe('a text to sort by', () => {
  it('is folded', () => {
    expect(sortText('Zürich  Office')).toBe('zurich office');
  });

  it('is cut to what a cursor can hold, between characters', () => {
    expect(sortText('x'.repeat(200))).toBe('x'.repeat(160));
    expect(sortText('"'.repeat(200))).toBe('"'.repeat(80));
    expect(sortText('😀'.repeat(200))).toBe('😀'.repeat(40));
  });
});

describe('a line of CSV', () => {
  it('quotes what RFC 4180 has quoted', () => {
    expect(csvLine(['a', 'b,c', 'say "x"', 'two\nlines', '', null, 7, true])).toBe(
      'a,"b,c","say ""x""","two\nlines",,,7,true\r\n',
    );
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx'])('makes %j a text for a spreadsheet', (text) => {
    expect(csvLine([text])).toMatch(/^"?'/);
  });

  it('leaves numbers alone, and shows lists and objects as JSON', () => {
    expect(csvLine([-5, ['a', 'b'], { score: 4 }])).toBe('-5,"[""a"",""b""]","{""score"":4}"\r\n');
  });
});
