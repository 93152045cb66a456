import { createPrivateKey, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { documentSigner, generateDocumentKey } from './document-signer.ts';
import { jwksOf } from './public-jwk.ts';
import type { PublicJwk } from './public-jwk.ts';
import { signingInput, verifyDetached } from './verify-detached.ts';

const pem = generateDocumentKey();
const signer = documentSigner(pem);
const jwks = jwksOf([signer.jwk]);
const BYTES = Buffer.from('{"items":[1,2,3]}');
const JWS = signer.sign(BYTES);
const [HEADER = '', , SIGNATURE = ''] = JWS.split('.');

/** A JWS signed by our key with any header. */
function signedWith(header: unknown): string {
  const encoded = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)).toString('base64url');
  const signature = sign(null, signingInput(encoded, BYTES), createPrivateKey(pem));
  return `${encoded}..${signature.toString('base64url')}`;
}

function problemOf(jws: string, keys: readonly PublicJwk[] = jwks.keys, bytes: Uint8Array = BYTES): string {
  const verdict = verifyDetached(bytes, jws, { keys });
  return verdict.ok ? 'verified' : verdict.problem;
}

describe('a detached signature', () => {
  it('verifies with a pinned key, also among retired ones and keys of other types', () => {
    const retired = documentSigner(generateDocumentKey()).jwk;
    const foreign = JSON.parse('{"kty":"RSA","kid":"r","n":"AQAB","e":"AQAB"}') as PublicJwk;
    expect(verifyDetached(BYTES, JWS, { keys: [foreign, retired, signer.jwk] })).toEqual({ ok: true, kid: signer.kid });
  });

  it('verifies with a retired key that is still listed', () => {
    const current = documentSigner(generateDocumentKey());
    expect(verifyDetached(BYTES, JWS, jwksOf([current.jwk, signer.jwk]))).toMatchObject({ ok: true });
  });

  it('ignores unknown header members', () => {
    expect(problemOf(signedWith({ alg: 'EdDSA', kid: signer.kid, typ: 'x' }))).toBe('verified');
  });

  it('fails with any bit of the bytes flipped, and with any byte added or removed', () => {
    fc.assert(
      fc.property(fc.nat({ max: BYTES.length * 8 - 1 }), (bit) => {
        const changed = Buffer.from(BYTES);
        changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        expect(problemOf(JWS, jwks.keys, changed)).toBe(`The signature by ${signer.kid} is not over these bytes.`);
      }),
    );
    expect(problemOf(JWS, jwks.keys, Buffer.concat([BYTES, Buffer.from('\n')]))).toContain('not over these bytes');
    expect(problemOf(JWS, jwks.keys, BYTES.subarray(1))).toContain('not over these bytes');
  });

  it('fails with any character of the signature changed', () => {
    fc.assert(
      fc.property(fc.nat({ max: JWS.length - 1 }), fc.string({ maxLength: 2 }), (place, other) => {
        const changed = JWS.slice(0, place) + other + JWS.slice(place + 1);
        fc.pre(changed !== JWS);
        expect(verifyDetached(BYTES, changed, jwks).ok).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('fails if another key signed under the name of the pinned one', () => {
    const other = documentSigner(generateDocumentKey());
    expect(problemOf(JWS, [{ ...other.jwk, kid: signer.kid }])).toContain('not over these bytes');
  });

  it.each([
    ['nothing', '', 'three parts'],
    ['two parts', `${HEADER}.${SIGNATURE}`, 'three parts'],
    ['four parts', `${JWS}.`, 'three parts'],
    ['its own payload', `${HEADER}.${BYTES.toString('base64url')}.${SIGNATURE}`, 'not detached'],
    ['no signature', `${HEADER}..`, '64 bytes'],
    ['a short signature', `${HEADER}..${SIGNATURE.slice(4)}`, '64 bytes'],
    ['a padded signature', `${HEADER}..${SIGNATURE}==`, '64 bytes'],
    ['a header that is not base64url', `${HEADER}=..${SIGNATURE}`, 'base64url JSON object'],
    ['a header that is not JSON', signedWith('{'), 'base64url JSON object'],
    ['a header that is a list', signedWith([]), 'base64url JSON object'],
    ['a header with one member twice', signedWith(`{"alg":"EdDSA","alg":"none","kid":"${signer.kid}"}`), 'JSON object'],
    ['no algorithm', signedWith({ kid: signer.kid }), 'EdDSA'],
    ['the algorithm none', signedWith({ alg: 'none', kid: signer.kid }), 'EdDSA'],
    ['an HMAC keyed with the public key', signedWith({ alg: 'HS256', kid: signer.kid }), 'EdDSA'],
    ['an extension that must be known', signedWith({ alg: 'EdDSA', kid: signer.kid, crit: ['b64'] }), 'extension'],
    ['an unencoded payload', signedWith({ alg: 'EdDSA', kid: signer.kid, b64: false }), 'extension'],
    ['no key name', signedWith({ alg: 'EdDSA' }), 'does not name its key'],
    ['an empty key name', signedWith({ alg: 'EdDSA', kid: '' }), 'does not name its key'],
    ['a key name that is a number', signedWith({ alg: 'EdDSA', kid: 1 }), 'does not name its key'],
    ['a key that is not pinned', signedWith({ alg: 'EdDSA', kid: 'other' }), 'No pinned key is named other.'],
    ['a key it brings itself', signedWith({ alg: 'EdDSA', kid: 'own', jwk: signer.jwk }), 'No pinned key'],
    ['thousands of characters', `${HEADER}..${'A'.repeat(5000)}`, 'too long'],
  ])('fails with %s', (_, jws, problem) => {
    expect(problemOf(jws)).toContain(problem);
  });

  it.each([
    ['is not an Ed25519 key', { crv: 'X25519' }],
    ['is of another type', { kty: 'EC' }],
    ['has a short point', { x: 'AQAB' }],
    ['has a padded point', { x: `${signer.jwk.x}=` }],
    ['has no point', { x: undefined }],
  ])('fails if the pinned key %s', (_, spoiled) => {
    const key = { ...signer.jwk, ...spoiled } as PublicJwk;
    expect(problemOf(JWS, [key])).toBe(`The pinned key ${signer.kid} is not an Ed25519 signing key.`);
  });

  it('fails if two pinned keys share the name', () => {
    expect(problemOf(JWS, [signer.jwk, signer.jwk])).toContain('More than one pinned key');
  });

  it('fails if no key is pinned', () => {
    expect(problemOf(JWS, [])).toContain('No pinned key');
  });
});
