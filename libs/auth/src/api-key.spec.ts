import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bearerToken, keyHashOf, mintKey, type ApiKeyPrefix } from './api-key.ts';

const PREFIXES: readonly ApiKeyPrefix[] = ['svc_', 'gk_', 'ingest_'];
const zeros = (bytes: number) => Buffer.alloc(bytes);

describe('mintKey', () => {
  it.each(PREFIXES)('generates %s and 43 characters of url-safe base64 from 32 random bytes', (prefix) => {
    const asked: number[] = [];
    const minted = mintKey(prefix, (bytes) => {
      asked.push(bytes);
      return Buffer.alloc(bytes, 0xff);
    });
    expect(asked).toEqual([32]);
    expect(minted.rawKey).toBe(`${prefix}${'_'.repeat(42)}8`);
    expect(minted.keyPrefix).toBe(minted.rawKey.slice(0, 12));
    expect(minted.keyHash).toHaveLength(32);
    expect(minted.keyHash).toEqual(createHash('sha256').update(minted.rawKey).digest());
  });

  it('generates 47 characters for svc_, of which the first 12 are the prefix', () => {
    const minted = mintKey('svc_', zeros);
    expect(minted.rawKey).toBe('svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
    expect(minted.rawKey).toHaveLength(47);
    expect(minted.keyPrefix).toBe('svc_AAAAAAAA');
  });

  it("uses the platform's random bytes by default", () => {
    expect(mintKey('gk_').rawKey).not.toBe(mintKey('gk_').rawKey);
  });
});

describe('keyHashOf', () => {
  it('returns the stored hash of every minted key', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PREFIXES), fc.uint8Array({ minLength: 32, maxLength: 32 }), (prefix, bytes) => {
        const minted = mintKey(prefix, () => Buffer.from(bytes));
        expect(keyHashOf(prefix, minted.rawKey)).toEqual(minted.keyHash);
      }),
    );
  });

  const good = `svc_${'a'.repeat(43)}`;
  it.each([
    ['nothing', ''],
    ['padding', `${good}=`],
    ['one extra character', `${good}a`],
    ['one missing character', good.slice(0, -1)],
    ['a blank before', ` ${good}`],
    ['a line feed after', `${good}\n`],
    ['plain base64', `svc_${'a'.repeat(42)}+`],
    ['plain base64 with a slash', `svc_${'a'.repeat(42)}/`],
    ['another case of the prefix', `SVC_${'a'.repeat(43)}`],
    ["another surface's key", `gk_${'a'.repeat(43)}`],
    ["another surface's key of the same length", `gk_${'a'.repeat(44)}`],
    ['a letter beyond ASCII', `svc_${'a'.repeat(42)}ä`],
  ])('returns undefined for %s, so that no look-up is made', (_what, presented) => {
    expect(keyHashOf('svc_', good)).toHaveLength(32);
    expect(keyHashOf('svc_', presented)).toBeUndefined();
  });

  it('does not confuse prefixes', () => {
    for (const prefix of PREFIXES) {
      for (const other of PREFIXES) {
        expect(keyHashOf(other, mintKey(prefix, zeros).rawKey) !== undefined).toBe(prefix === other);
      }
    }
  });
});

describe('bearerToken', () => {
  it.each(['Bearer abc', 'bearer abc', 'BEARER abc', 'bEaReR    abc'])('reads the token of "%s"', (header) => {
    expect(bearerToken(header)).toBe('abc');
  });

  it('keeps every character of the token', () => {
    expect(bearerToken('Bearer a-b_c.d~e+f/g==')).toBe('a-b_c.d~e+f/g==');
  });

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer   ',
    ' Bearer abc',
    'Bearer\tabc',
    'Bearer abc ',
    'Bearer abc def',
    'Bearerabc',
    'Basic abc',
    'Bearer äbc',
    'Bearer abc\n',
    'X Bearer abc',
  ])('finds none in "%s"', (header) => {
    expect(bearerToken(header)).toBeUndefined();
  });
});
