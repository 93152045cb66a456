import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sha256 } from './sha256.ts';

describe('sha256', () => {
  it('hashes the examples of FIPS 180-4', () => {
    expect(sha256('').toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(sha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('hashes a text as its UTF-8, and bytes as they are', () => {
    expect(sha256('ü€😀')).toEqual(sha256(new TextEncoder().encode('ü€😀')));
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(sha256(bytes)).toEqual(createHash('sha256').update(bytes).digest());
      }),
    );
  });
});
