import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { parseIdempotencyKey } from './claim.ts';

/** Keys, which may contain quotes, backslashes and semicolons like any other visible character. */
const visible = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('"', '\\', ';', ','),
  ),
  minLength: 1,
  maxLength: 255,
});
/** A key as a structured-field string of RFC 9651, section 4.1.6. */
const quoted = (key: string) => `"${key.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

describe('parseIdempotencyKey', () => {
  it('returns undefined if the header is absent', () => {
    expect(parseIdempotencyKey([])).toBeUndefined();
  });

  it.each([
    ['order-1', 'order-1'],
    ['"order-1"', 'order-1'],
    ['case_1:policy-2', 'case_1:policy-2'],
    ['a', 'a'],
    ['a"', 'a"'],
    ['a"b', 'a"b'],
    ['a;x=1', 'a;x=1'],
    ['a,b', 'a,b'],
    [String.raw`a\"b`, String.raw`a\"b`],
    ['"a;x=1"', 'a;x=1'],
    ['"a,b"', 'a,b'],
    [String.raw`"a\"b"`, 'a"b'],
    ['"a\\\\"', 'a\\'],
    [String.raw`"\""`, '"'],
    ['!~', '!~'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    [quoted('"'.repeat(255)), '"'.repeat(255)],
  ])('reads %s as %s', (header, key) => {
    expect(parseIdempotencyKey([header])).toBe(key);
  });

  it('parses every key alike, bare and as a structured-field string', () => {
    fc.assert(
      fc.property(visible, (key) => {
        expect(parseIdempotencyKey([quoted(key)])).toBe(key);
        if (!key.startsWith('"')) expect(parseIdempotencyKey([key])).toBe(key);
      }),
    );
  });

  it('rejects anything after a structured-field string, so that one key has no two spellings', () => {
    fc.assert(
      fc.property(visible, visible, (key, rest) => {
        expect(() => parseIdempotencyKey([quoted(key) + rest])).toThrow(AppError);
      }),
    );
  });

  it.each([
    ['the same value twice', ['a', 'a']],
    ['two values', ['a', 'b']],
    ['an empty value', ['']],
    ['an empty quoted value', ['""']],
    ['256 characters', ['x'.repeat(256)]],
    ['a quoted string with a parameter', ['"a";x=1']],
    ['a quoted string with a parameter that is a string', ['"a";x="b"']],
    ['a quoted string with a blank and a parameter', ['"a" ; x=1']],
    ['a quoted string with a parameter without a value', ['"a";x']],
    ['a quoted string and a semicolon', ['"a";']],
    ['a list of quoted strings', ['"a", "b"']],
    ['a list of quoted strings without a blank', ['"a","b"']],
    ['a quoted string and a comma', ['"a",']],
    ['two quoted strings that touch', ['"a""b"']],
    ['an unclosed quote', ['"a']],
    ['a quote alone', ['"']],
    ['three quotes', ['"""']],
    ['an unescaped quote inside quotes', ['"a"b"']],
    ['an escaped closing quote', ['"a\\"']],
    ['a backslash that escapes a letter', ['"a\\b"']],
    ['256 quoted characters', [`"${'x'.repeat(256)}"`]],
    ['a blank inside', ['a b']],
    ['a blank inside quotes', ['"a b"']],
    ['a blank before', [' a']],
    ['a space after the quotes', ['"a" ']],
    ['a tab', ['a\tb']],
    ['U+007F', ['a\u007f']],
    ['U+0000', ['a\u0000']],
    ['a line feed at the end', ['a\n']],
    ['a letter beyond ASCII', ['ä']],
    ['two values in one header', ['a, b']],
  ])('rejects %s', (_what, values) => {
    expect(() => parseIdempotencyKey(values)).toThrow(AppError);
    expect(() => parseIdempotencyKey(values)).toThrow(
      expect.objectContaining({
        code: 'INVALID_IDEMPOTENCY_KEY',
        status: 400,
        faults: [expect.objectContaining({ in: 'header', pointer: '/Idempotency-Key' })],
      }),
    );
  });

  it('does not quote the key in an error', () => {
    expect(() => parseIdempotencyKey(['secret value'])).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});
