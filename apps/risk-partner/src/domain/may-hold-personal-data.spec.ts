import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { foldCharacters } from './personal-data.ts';
import { mayHoldPersonalData } from './may-hold-personal-data.ts';

/** Where a word may start: after a non-word character, or after a JSON escape. */
const BEGINS = String.raw`(?:(?<!\w)|(?<=\\\w{1,5}))`;

/** The reference implementation, which is slower. */
const EXPRESSION = new RegExp(
  [
    '@',
    String.raw`\+\d`,
    String.raw`\d{3}[ .-]\d{2}[ .-]\d{4}`,
    String.raw`\d{3}[ -]\d{3}`,
    String.raw`\d{4}\.\d{4}`,
    String.raw`${BEGINS}\d{13}`,
    // A word longer than any IBAN is none.
    String.raw`${BEGINS}(?!\w{35})[A-Za-z]{2}\d{2}[ .-]?\w`,
  ].join('|'),
);
const finds = (text: string): boolean => EXPRESSION.test(text) || EXPRESSION.test(foldCharacters(text));

describe('mayHoldPersonalData', () => {
  it.each([
    ['', false],
    ['@', true],
    ['+', false],
    ['+4', true],
    ['123 456', true],
    ['123-456', true],
    ['12-345', false],
    ['123-45-6789', true],
    ['123-45-678', false],
    ['1234567890123', true],
    ['123456789012', false],
    ['x1234567890123', false],
    ['_12345678901234', false],
    ['12-1234567890123', true],
    ['DE89 3', true],
    ['DE893', true],
    ['DE89  3', false],
    ['DE8', false],
    ['ADE89X', false],
    ['de89-x', true],
    ['de89.3', true],
    [String.raw`\nDE89 3`, true],
    [String.raw`\u001f4111111111111`, true],
    [`de89${'a'.repeat(30)}`, true],
    [`de89${'a'.repeat(31)}`, false],
    ['123.45.6789', true],
    ['123 45-6789', true],
    ['1234.5678', true],
    ['123.4567', false],
    ['1234.567', false],
    ['192.168.100.200', false],
    ['１２３ 456', true],
    ['a＠b', true],
    ['123\u00a0456', true],
    ['12\u200b3 4\u00ad56', true],
    ['12\u034f3 4\u061c56', true],
    ['12\u03003 4\u04835\u05916', true],
    ['٠٧٨-٠٥-١١٢٠', true],
    ['+٤', true],
    ['Zürich edge — «€» 😀 ’…', false],
    ['{"createdAt":"2026-11-22T02:28:20.027Z","id":"ast_00000000000000000000000000000001"}', false],
  ])('is at %j: %p', (text, expected) => {
    expect(mayHoldPersonalData(text)).toBe(expected);
    expect(finds(text)).toBe(expected);
  });

  it('finds what the reference expression finds, at any position', () => {
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...'0123456789 -+_,.:"AZaz@é\n\\＠７٣\u00a0\u2013\u200b—') },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          '123',
          '12',
          '1234',
          '1234567890123',
          'DE89',
          '078-05-',
          '+4',
          'AB',
          'de89',
          '\\u001f',
          'abcdefghij',
        ),
      },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join('');
        expect(mayHoldPersonalData(text)).toBe(finds(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it('finds in joined texts what it finds in each, and nothing across them', () => {
    const text = fc
      .array(fc.constantFrom('123', '456', 'A', 'B12', '-', ' ', 'x', '+', '4'))
      .map((all) => JSON.stringify(all.join('')));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
        expect(mayHoldPersonalData(texts.join(','))).toBe(texts.some(mayHoldPersonalData));
      }),
      { numRuns: 5_000 },
    );
  });
});
