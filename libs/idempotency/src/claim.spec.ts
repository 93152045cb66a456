import { createHash } from 'node:crypto';
import { ServerSecrets } from '@sealgate/auth';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { claimOf, type ClaimOptions } from './claim.ts';

const oldSecret = `old:${'o'.repeat(32)}`;
const newSecret = `new:${'n'.repeat(32)}`;
const hasher = ServerSecrets.parse(oldSecret).derive('fingerprints');
const rotated = ServerSecrets.parse(`${newSecret},${oldSecret}`).derive('fingerprints');
const body = Buffer.from('{"a":1}');
const request: ClaimOptions = { hasher, scope: ['demo', 'family-1'], key: 'k', method: 'POST', path: '/demo', body };

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
    const parts = (some: Omit<ClaimOptions, 'hasher'>) => [
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
