import { describe, expect, it } from '@jest/globals';
import { bearerToken } from './api-key.ts';

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
