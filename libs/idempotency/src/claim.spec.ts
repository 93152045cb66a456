import { createHash } from 'node:crypto';
import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { claimOf, parseIdempotencyKey } from './claim.ts';

const oldSecret = `old:${'o'.repeat(32)}`;
const newSecret = `new:${'n'.repeat(32)}`;
const hasher = ServerSecrets.parse(oldSecret).derive('fingerprints');
const rotated = ServerSecrets.parse(`${newSecret},${oldSecret}`).derive('fingerprints');
const body = Buffer.from('{"a":1}');
const request = { hasher, scope: ['demo', 'family-1'], key: 'k', method: 'POST', path: '/demo', body };

describe('claimOf', () => {
  it('claims scope and key by their SHA-256, each with its length and without a secret', () => {
    const expected = createHash('sha256').update('4:demo8:family-11:k').digest();
    expect(claimOf(request).claim).toEqual(expected);
    expect(claimOf({ ...request, hasher: rotated }).claim).toEqual(expected);
  });

  it('makes the fingerprint from method, path and body with the current secret, and names the secret', () => {
    const { id, digest } = hasher.hash('POST', '/demo', body);
    expect(claimOf(request).fingerprint).toBe(`${id}:${digest.toString('base64url')}`);
    expect(claimOf(request).fingerprint).toMatch(/^old:[A-Za-z0-9_-]{43}$/);
    expect(claimOf(request).acceptable).toEqual([claimOf(request).fingerprint]);
  });

  it('accepts fingerprints of an older secret until that secret is removed', () => {
    const before = claimOf(request);
    const after = claimOf({ ...request, hasher: rotated });
    expect(after.fingerprint).toMatch(/^new:/);
    expect(after.acceptable).toEqual([after.fingerprint, before.fingerprint]);
    const gone = claimOf({ ...request, hasher: ServerSecrets.parse(newSecret).derive('fingerprints') });
    expect(gone.acceptable).not.toContain(before.fingerprint);
  });

  it.each([
    ['method', { method: 'PUT' }],
    ['path', { path: '/demo2' }],
    ['body', { body: Buffer.from('{"a":2}') }],
    ['empty body', { body: new Uint8Array() }],
  ])('another %s has another fingerprint under the same claim', (_what, change) => {
    const changed = claimOf({ ...request, ...change });
    expect(changed.claim).toEqual(claimOf(request).claim);
    expect(changed.fingerprint).not.toBe(claimOf(request).fingerprint);
  });

  it.each([
    ['key', { key: 'l' }],
    ['scope', { scope: ['demo', 'family-2'] }],
    ['longer scope', { scope: ['demo', 'family-1', ''] }],
    ['scope divided elsewhere', { scope: ['dem', 'ofamily-1'] }],
    ['scope that ends where the key began', { scope: ['demo'], key: 'family-1k' }],
  ])('another %s has another claim with the same fingerprint', (_what, change) => {
    const changed = claimOf({ ...request, ...change });
    expect(changed.claim).not.toEqual(claimOf(request).claim);
    expect(changed.fingerprint).toBe(claimOf(request).fingerprint);
  });

  it('matches two requests exactly if they are equal', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '1', ':'), maxLength: 3 });
    const any = fc.record({
      scope: fc.array(text, { maxLength: 3 }),
      key: text,
      method: fc.constantFrom('POST', 'PUT'),
      path: text,
      body: text.map((content) => Buffer.from(content)),
    });
    const parts = (some: Omit<typeof request, 'hasher'>) => [
      JSON.stringify([some.scope, some.key]),
      JSON.stringify([some.method, some.path, Buffer.from(some.body).toString('hex')]),
    ];
    fc.assert(
      fc.property(any, any, (left, right) => {
        const [one, other] = [claimOf({ hasher, ...left }), claimOf({ hasher, ...right })];
        expect([one.claim.equals(other.claim), one.fingerprint === other.fingerprint]).toEqual([
          parts(left)[0] === parts(right)[0],
          parts(left)[1] === parts(right)[1],
        ]);
      }),
      { numRuns: 500 },
    );
  });
});

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
