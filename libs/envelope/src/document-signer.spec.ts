import { createPrivateKey, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { documentSigner, generateDocumentKey, seededSigner } from './document-signer.ts';
import { jwksOf } from './public-jwk.ts';
import { signingInput, verifyDetached } from './verify-detached.ts';

// The key of RFC 8037, appendix A: its private half `d` in the fixed PKCS #8 wrapping of Ed25519.
const RFC8037_PEM =
  '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n';
const RFC8037_JWK = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  alg: 'EdDSA',
  use: 'sig',
} as const;

describe('a document signer', () => {
  it('publishes the key of RFC 8037 under its thumbprint', () => {
    const signer = documentSigner(RFC8037_PEM);
    expect(signer.jwk).toEqual(RFC8037_JWK);
    expect(signer.kid).toBe(RFC8037_JWK.kid);
    expect(JSON.stringify(signer.jwk)).not.toContain('"d"');
  });

  it('is made from the seed of the same key', () => {
    // RFC 8037, appendix A.1: the seed is `d`.
    const seed = Buffer.from('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', 'base64url');
    expect(seededSigner(seed).jwk).toEqual(RFC8037_JWK);
  });

  it('signs the input of RFC 8037', () => {
    const input = signingInput('eyJhbGciOiJFZERTQSJ9', Buffer.from('Example of Ed25519 signing'));
    expect(sign(null, input, createPrivateKey(RFC8037_PEM)).toString('base64url')).toBe(
      'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
    );
  });

  it('writes a detached JWS: header, empty payload, signature', () => {
    const [header = '', payload, signature = ''] = documentSigner(RFC8037_PEM).sign(Buffer.from('{}')).split('.');
    expect(Buffer.from(header, 'base64url').toString()).toBe(`{"alg":"EdDSA","kid":"${RFC8037_JWK.kid}"}`);
    expect(payload).toBe('');
    expect(Buffer.from(signature, 'base64url')).toHaveLength(64);
  });

  it('signs any bytes, including a view of a larger buffer', () => {
    const signer = documentSigner(generateDocumentKey());
    const jwks = jwksOf([signer.jwk]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 50 }), (bytes, from) => {
        const view = bytes.subarray(from);
        const jws = signer.sign(view);
        expect(jws).toBe(signer.sign(Buffer.from(view)));
        expect(verifyDetached(view, jws, jwks)).toEqual({ ok: true, kid: signer.kid });
      }),
    );
  });

  it('differs for each generated key', () => {
    expect(documentSigner(generateDocumentKey()).kid).not.toBe(documentSigner(generateDocumentKey()).kid);
  });

  it.each([
    ['nothing', ''],
    ['text that is not PEM', 'secret-that-must-not-be-shown'],
    ['a truncated PEM', RFC8037_PEM.replace('IJ1hsZ3v', '')],
  ])('is not created from %s, and does not reveal it', (_, pem) => {
    expect(() => documentSigner(pem)).toThrow('PKCS #8 PEM; this is not readable');
  });

  it('is not created from a key of another type', () => {
    const x25519 =
      '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n';
    expect(() => documentSigner(x25519)).toThrow('A document key is an Ed25519 key.');
  });
});

describe('a key set', () => {
  it('lists each key once, in order', () => {
    const [one, two] = [documentSigner(generateDocumentKey()).jwk, documentSigner(generateDocumentKey()).jwk];
    expect(jwksOf([one, two, { ...one }])).toEqual({ keys: [one, two] });
    expect(jwksOf([])).toEqual({ keys: [] });
  });

  it('rejects two different keys with one name', () => {
    const [one, two] = [documentSigner(generateDocumentKey()).jwk, documentSigner(generateDocumentKey()).jwk];
    expect(() => jwksOf([one, { ...two, kid: one.kid }])).toThrow(`Two different keys are named ${one.kid}.`);
  });
});
