import { generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canSign, signLowS } from './native-signer.ts';

/** Orders of FIPS 186-5. */
const CURVES = [
  ['P-256', 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n],
  ['P-384', 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n],
] as const;

/** A strict DER parser (X.690 section 8.3): integers of minimal length, no trailing bytes. */
function scalarsOf(der: Buffer): { r: bigint; s: bigint } {
  expect(der[0]).toBe(0x30);
  expect(der[1]).toBe(der.length - 2);
  let at = 2;
  const integer = (): bigint => {
    expect(der[at]).toBe(0x02);
    const bytes = der.subarray(at + 2, at + 2 + der[at + 1]!);
    expect(bytes[0]! & 0x80).toBe(0);
    if (bytes.length > 1 && bytes[0] === 0) expect(bytes[1]! & 0x80).toBe(0x80);
    at += 2 + bytes.length;
    return BigInt(`0x${bytes.toString('hex')}`);
  };
  const scalars = { r: integer(), s: integer() };
  expect(at).toBe(der.length);
  return scalars;
}

describe('signLowS', () => {
  it.each(CURVES)('makes signatures of %s that verify, in DER, with the lower s', (namedCurve, order) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
    expect(canSign(privateKey)).toBe(true);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (message) => {
        const signature = signLowS(privateKey, message);
        const { r, s } = scalarsOf(signature);
        expect(r > 0n && r < order).toBe(true);
        expect(s > 0n && s <= order / 2n).toBe(true);
        expect(verify('sha256', message, publicKey, signature)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('signs the given message only', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const signature = signLowS(privateKey, Buffer.from('one'));
    expect(verify('sha256', Buffer.from('another'), publicKey, signature)).toBe(false);
  });

  it.each(['P-521', 'secp256k1'])('takes no key of %s', (namedCurve) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve });
    expect(canSign(privateKey)).toBe(false);
    expect(() => signLowS(privateKey, Buffer.from('one'))).toThrow('neither P-256 nor P-384');
  });
});
