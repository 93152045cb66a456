import { eligibilityBytes, isEligibilityDocument, verifyDetached } from '@sealgate/envelope';
import type { EligibilityDocument, Jwks } from '@sealgate/envelope';
import { sha256 } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { startReport } from './report.ts';
import type { Report } from './report.ts';

interface EligibilityInput {
  /** The name of the document, for the report. */
  readonly name: string;
  readonly document: EligibilityDocument;
  /** The pinned keys; without them the author is unknown. */
  readonly jwks?: Jwks | undefined;
}

/** The eligibility record in a parsed file; undefined if it is something else. */
export function eligibilityIn(value: JsonValue): EligibilityDocument | undefined {
  return isEligibilityDocument(value) ? value : undefined;
}

/** Checks that an eligibility record has its hash, and that a pinned key signed those bytes. */
export function checkEligibility({ name, document, jwks }: EligibilityInput): Report {
  const report = startReport();
  const bytes = eligibilityBytes(document);
  const { evidence_hash: hash, signature } = document;
  report.equal('hash', {
    ok: 'The record has the hash that it names.',
    failed: 'The record was changed since it was hashed.',
    where: `${name}#/evidence_hash`,
    expected: typeof hash === 'string' ? hash : null,
    found: sha256(bytes).toString('hex'),
  });
  const where = `${name}#/signature`;
  if (typeof signature !== 'string') {
    report.failed('signed', { detail: 'There is no signature: the author is unknown.', where });
  } else if (jwks === undefined) {
    report.failed('signed', { detail: 'No key set is pinned, so the author is unknown.', where });
  } else {
    const verdict = verifyDetached(bytes, signature, jwks);
    const expected = `a key of ${jwks.keys.map(({ kid }) => kid).join(', ') || 'an empty set'}`;
    if (verdict.ok) report.ok('signed', `Signed by the pinned key ${verdict.kid}.`);
    else report.failed('signed', { detail: verdict.problem, where, expected });
  }
  report.note('It states the situation at as_of. Only the gate decides about entry now.');
  const said = (member: string) => String(document[member]);
  return report.finish(
    `The owner of the pinned key said of ${said('subject_ref')} at ${said('as_of')}: ${said('status')} (version ${said('record_version')}).`,
  );
}
