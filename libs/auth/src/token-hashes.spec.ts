import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { TokenHashes } from './token-hashes.ts';

const hexOf = (token: string) => createHash('sha256').update(token).digest('hex');

describe('TokenHashes', () => {
  it('matches exactly the tokens whose hashes it was given, wherever they stand', () => {
    const hashes = TokenHashes.parse([hexOf('one'), hexOf('two'), hexOf('three')].join(','));
    expect(hashes.size).toBe(3);
    for (const token of ['one', 'two', 'three']) expect(hashes.matches(token)).toBe(true);
    for (const token of ['', 'On', 'one ', 'four', hexOf('one')]) expect(hashes.matches(token)).toBe(false);
  });

  it('knows the SHA-256 of "abc" (FIPS 180-4)', () => {
    const hashes = TokenHashes.parse('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(hashes.matches('abc')).toBe(true);
  });

  it('takes digits in either case and blanks around entries', () => {
    const hashes = TokenHashes.parse(` ${hexOf('one').toUpperCase()} ,\n${hexOf('two')} `);
    expect(hashes.matches('one') && hashes.matches('two')).toBe(true);
  });

  it.each(['', '  '])('holds none and matches nothing when the text is "%s"', (text) => {
    const hashes = TokenHashes.parse(text);
    expect(hashes.size).toBe(0);
    expect(hashes.matches('')).toBe(false);
    expect(hashes.matches('one')).toBe(false);
  });

  it('names all wrong entries by position and quotes none', () => {
    const text = `${hexOf('one')},my-raw-token,${hexOf('two')},${hexOf('x').slice(1)},`;
    expect(() => TokenHashes.parse(text)).toThrow(
      new Error('Not a SHA-256 hash of 64 hexadecimal digits: entry 2, 4, 5 of the list.'),
    );
  });
});
