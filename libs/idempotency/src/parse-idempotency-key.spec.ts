import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { parseIdempotencyKey } from './parse-idempotency-key.ts';

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 255,
});

describe('parseIdempotencyKey', () => {
  it('finds no key where the header is absent', () => {
    expect(parseIdempotencyKey([])).toBeUndefined();
  });

  it.each([
    ['order-1', 'order-1'],
    ['"order-1"', 'order-1'],
    ['case_1:policy-2', 'case_1:policy-2'],
    ['a', 'a'],
    ['"a', '"a'],
    ['a"', 'a"'],
    ['a"b', 'a"b'],
    ['"', '"'],
    ['"""', '"'],
    ['""a""', '"a"'],
    [String.raw`"a\"b"`, String.raw`a\"b`],
    ['!~', '!~'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('reads %s as %s', (header, key) => {
    expect(parseIdempotencyKey([header])).toBe(key);
  });

  it('reads every key the same, bare and quoted', () => {
    fc.assert(
      fc.property(visible, (key) => {
        expect(parseIdempotencyKey([`"${key}"`])).toBe(key);
        if (!/^".*"$/.test(key)) expect(parseIdempotencyKey([key])).toBe(key);
      }),
    );
  });

  it.each([
    ['the same value twice', ['a', 'a']],
    ['two values', ['a', 'b']],
    ['an empty value', ['']],
    ['an empty quoted value', ['""']],
    ['256 characters', ['x'.repeat(256)]],
    ['256 quoted characters', [`"${'x'.repeat(256)}"`]],
    ['a blank inside', ['a b']],
    ['a blank inside quotes', ['"a b"']],
    ['a blank before', [' a']],
    ['a blank behind the quotes', ['"a" ']],
    ['a tab', ['a\tb']],
    ['U+007F', ['a\u007f']],
    ['U+0000', ['a\u0000']],
    ['a line feed at the end', ['a\n']],
    ['a letter beyond ASCII', ['ä']],
    ['two values in one header', ['a, b']],
  ])('refuses %s', (_what, values) => {
    expect(() => parseIdempotencyKey(values)).toThrow(AppError);
    expect(() => parseIdempotencyKey(values)).toThrow(
      expect.objectContaining({
        code: 'INVALID_IDEMPOTENCY_KEY',
        status: 400,
        faults: [expect.objectContaining({ in: 'header', pointer: '/Idempotency-Key' })],
      }),
    );
  });

  it('quotes no key in a refusal', () => {
    expect(() => parseIdempotencyKey(['secret value'])).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});
