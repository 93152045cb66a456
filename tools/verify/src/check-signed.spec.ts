import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf } from '@sealgate/envelope';
import { checkSigned } from './check-signed.ts';
import { readKeySet } from './given-keys.ts';

const signer = documentSigner(generateDocumentKey());
const bytes = Buffer.from('{"items":[]}');
const jws = signer.sign(bytes);
const jwks = jwksOf([signer.jwk]);
const hash = createHash('sha256').update(bytes).digest('hex');

describe('a signed document', () => {
  it('verifies by a pinned key over exactly its bytes', () => {
    const report = checkSigned({ name: 'doc.json', bytes, signature: { jws, jwks } });
    expect(report.verified).toBe(true);
    expect(report.conclusion).toBe(`doc.json is, byte for byte, what the owner of the key ${signer.kid} signed.`);
    expect(checkSigned({ name: 'doc.json', bytes, signature: { jws, jwks }, hash: hash.toUpperCase() }).verified).toBe(
      true,
    );
  });

  it('with only a hash is unchanged since hashed, and not verified', () => {
    const report = checkSigned({ name: 'doc.json', bytes, hash });
    expect(report.verified).toBe(false);
    expect(report.conclusion).toBe('Unchanged since hashed. Failed: signature.');
    expect(report.steps.map(({ step, status }) => [step, status])).toEqual([
      ['hash', 'ok'],
      ['signature', 'failed'],
    ]);
  });

  it('with another hash was changed', () => {
    const report = checkSigned({ name: 'doc.json', bytes: Buffer.from('{}'), hash });
    expect(report.conclusion).toBe('Failed: hash, signature.');
    expect(report.steps[0]).toMatchObject({ detail: 'The document was changed since it was hashed.', expected: hash });
  });

  it('fails with a valid signature and a wrong hash', () => {
    const report = checkSigned({ name: 'doc.json', bytes, signature: { jws, jwks }, hash: '0'.repeat(64) });
    expect(report.conclusion).toBe('Failed: hash.');
  });

  it('fails with changed bytes, another key or no key', () => {
    const other = jwksOf([documentSigner(generateDocumentKey()).jwk]);
    const reports = [
      checkSigned({ name: 'doc.json', bytes: Buffer.from('{"items":[1]}'), signature: { jws, jwks } }),
      checkSigned({ name: 'doc.json', bytes, signature: { jws, jwks: other } }),
      checkSigned({ name: 'doc.json', bytes, signature: { jws, jwks: jwksOf([]) } }),
      checkSigned({ name: 'doc.json', bytes, signature: { jws: 'x', jwks } }),
    ];
    for (const report of reports) expect(report.conclusion).toBe('Failed: signature.');
    expect(reports[2]?.steps[0]?.expected).toBe('a key of an empty set');
  });
});

describe('a key set', () => {
  it('keeps only Ed25519 keys', () => {
    const { x, kid } = signer.jwk;
    const keys = [
      { kty: 'OKP', crv: 'Ed25519', x, kid },
      { kty: 'RSA', kid },
      { kty: 'OKP', crv: 'Ed25519', x },
      null,
      'x',
    ];
    expect(readKeySet('jwks.json', { keys })).toEqual({ keys: [signer.jwk] });
  });

  it.each([
    [[], 'jwks.json is not a JSON object'],
    [{}, 'jwks.json# has no member keys'],
    [{ keys: {} }, 'jwks.json#/keys is not a list'],
  ])('is unreadable from %j', (value, message) => {
    expect(() => readKeySet('jwks.json', value)).toThrow(message);
  });
});
