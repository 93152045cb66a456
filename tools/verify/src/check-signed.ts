import { verifyDetached } from '@sealgate/envelope';
import type { Jwks } from '@sealgate/envelope';
import { sha256 } from '@sealgate/json';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';

interface SignedInput {
  /** The name of the document, for the report. */
  readonly name: string;
  /** The exact signed bytes. */
  readonly bytes: Uint8Array;
  /** The detached JWS and the trusted keys. */
  readonly signature?: { readonly jws: string; readonly jwks: Jwks } | undefined;
  /** A SHA-256 received with the document, in hex. */
  readonly hash?: string | undefined;
}

/**
 * Checks a document against its detached signature, its hash, or both. A hash alone never verifies: whoever changed the
 * document could have recomputed it.
 */
export function checkSigned({ name, bytes, signature, hash }: SignedInput): Report {
  const report = startReport();
  const isUnchanged = hash !== undefined && checkHash(report, { name, bytes, hash });
  if (signature === undefined) {
    const detail = isUnchanged
      ? 'Unchanged since hashed, but not signed: the author is unknown.'
      : 'There is no signature: the author is unknown.';
    report.failed('signature', { detail, where: name });
    const { conclusion, ...rest } = report.finish('');
    return { ...rest, conclusion: isUnchanged ? `Unchanged since hashed. ${conclusion}` : conclusion };
  }
  const verdict = verifyDetached(bytes, signature.jws, signature.jwks);
  if (verdict.ok) {
    report.ok('signature', `Signed by the pinned key ${verdict.kid}, over exactly these bytes.`);
    return report.finish(`${name} is, byte for byte, what the owner of the key ${verdict.kid} signed.`);
  }
  const pinned = signature.jwks.keys.map(({ kid }) => kid).join(', ');
  report.failed('signature', {
    detail: verdict.problem,
    where: name,
    expected: `a key of ${pinned || 'an empty set'}`,
  });
  return report.finish('');
}

function checkHash(
  report: Reporter,
  { name, bytes, hash }: { name: string; bytes: Uint8Array; hash: string },
): boolean {
  return report.equal('hash', {
    ok: 'The document has the hash that was given.',
    failed: 'The document was changed since it was hashed.',
    where: name,
    expected: hash.toLowerCase(),
    found: sha256(bytes).toString('hex'),
  });
}
