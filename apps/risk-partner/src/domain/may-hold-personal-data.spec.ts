import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mayHoldPersonalData } from './may-hold-personal-data.ts';

/** The same as an expression, which is slower. */
const EXPRESSION = /@|\+\d|\d{3}-\d{2}-\d{4}|\d{3}[ -]\d{3}|(?<!\w)\d{13}|[A-Z]{2}\d{2} ?[A-Z0-9]/;

describe('the first look for personal data', () => {
  it.each([
    ['', false],
    ['@', true],
    ['+', false],
    ['+4', true],
    ['123 456', true],
    ['123-456', true],
    ['12-345', false],
    ['123-45-6789', true],
    ['123 45-6789', false],
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
    ['ADE89X', true],
    ['{"createdAt":"2026-11-22T02:28:20.027Z","id":"ast_00000000000000000000000000000001"}', false],
  ])('is at %j: %p', (text, expected) => {
    expect(mayHoldPersonalData(text)).toBe(expected);
    expect(EXPRESSION.test(text)).toBe(expected);
  });

  it('finds what the expression finds, wherever it stands', () => {
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...'0123456789 -+_,.:"AZaz@é\n') },
      { weight: 2, arbitrary: fc.constantFrom('123', '12', '1234', '1234567890123', 'DE89', '078-05-', '+4', 'AB') },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join('');
        expect(mayHoldPersonalData(text)).toBe(EXPRESSION.test(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it('finds in joined texts what it finds in one of them, and nothing between them', () => {
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
