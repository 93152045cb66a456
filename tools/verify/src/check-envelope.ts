import { hashedBytesOf, isPartnerEnvelope, verifyDetached } from '@sealgate/envelope';
import type { Jwks, PartnerEnvelope } from '@sealgate/envelope';
import { sha256 } from '@sealgate/json';
import type { Bytes, JsonValue } from '@sealgate/json';
import { verifyInclusion } from '@sealgate/merkle';
import type { NoteVerifier } from '@sealgate/merkle';
import { isFabricProof } from './fabric/proof-file.ts';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';
import { hashBytes, isObject, numberAt, stringAt, stringsAt } from './shape.ts';
import type { Place } from './shape.ts';
import { openCheckpoint } from './signed-checkpoint.ts';

interface EnvelopeInput {
  /** The name of the document, for the report. */
  readonly name: string;
  readonly envelope: PartnerEnvelope;
  /** The detached JWS and the trusted keys; without them the author is unknown. */
  readonly signature?: { readonly jws: string; readonly jwks: Jwks } | undefined;
  /** The pinned key of the log of the proofs; without it they are not checked. */
  readonly verifier?: NoteVerifier | undefined;
  /** Of `checkProofsByPeers`; without it proofs of Fabric are not checked. */
  readonly byPeers?: readonly Report[] | undefined;
}

/** The envelope in a parsed file; undefined if it is something else. */
export function envelopeIn(value: JsonValue): PartnerEnvelope | undefined {
  return isPartnerEnvelope(value) ? value : undefined;
}

/**
 * Checks that a partner envelope has its hash, that a pinned key signed those bytes, and that each proof in it leads
 * from its leaf to a checkpoint signed by the pinned key of the log.
 */
export function checkEnvelope({ name, envelope, signature, verifier, byPeers }: EnvelopeInput): Report {
  const report = startReport();
  const bytes = hashedBytesOf(envelope);
  const hash = envelope['evidence_hash'];
  const isUnchanged = report.equal('hash', {
    ok: 'The envelope has the hash that it names.',
    failed: 'The envelope was changed since it was hashed.',
    where: `${name}#/evidence_hash`,
    expected: typeof hash === 'string' ? hash : null,
    found: sha256(bytes).toString('hex'),
  });
  checkSignature(report, { name, bytes, signature, isUnchanged });
  const proofs = itemsIn(name, envelope).filter(isInLog);
  if (proofs.length > 0 && verifier === undefined)
    report.note('It holds proofs, which were not checked: pin the key of the log with --key.');
  else if (verifier !== undefined) for (const proof of proofs) checkProof(report, proof, verifier);
  const inLog = proofs.length > 0 && verifier !== undefined ? ` Its ${proofs.length} proof(s) lead into the log.` : '';
  const proved = inLog + includeSigned(report, { name, envelope, byPeers });
  const { conclusion, ...rest } = report.finish(
    `${name} holds what the owner of the pinned key signed for ${String(envelope['orgId'])}, as it was at ${String(envelope['generatedAt'])}.${proved}`,
  );
  return {
    ...rest,
    conclusion: signature === undefined && isUnchanged ? `Unchanged since hashed. ${conclusion}` : conclusion,
  };
}

/** The proofs that peers signed; returns what is proved by them. */
function includeSigned(
  report: Reporter,
  { name, envelope, byPeers }: Pick<EnvelopeInput, 'name' | 'envelope' | 'byPeers'>,
): string {
  const signed = itemsIn(name, envelope).filter(({ object }) => isFabricProof(object));
  if (signed.length === 0) return '';
  if (byPeers === undefined) {
    report.note('It holds proofs of Fabric, which were not checked: give the trust file of the channel with --trust.');
    return '';
  }
  for (const each of byPeers) report.include(each);
  return ` Peers signed for its ${signed.length} proof(s) of Fabric.`;
}

function checkSignature(
  report: Reporter,
  {
    name,
    bytes,
    signature,
    isUnchanged,
  }: Pick<EnvelopeInput, 'name' | 'signature'> & { readonly bytes: Bytes; readonly isUnchanged: boolean },
): void {
  if (signature === undefined) {
    const detail = isUnchanged
      ? 'Unchanged since hashed, but not signed: the author is unknown.'
      : 'There is no signature: the author is unknown.';
    return report.failed('signed', { detail, where: name });
  }
  const verdict = verifyDetached(bytes, signature.jws, signature.jwks);
  if (verdict.ok) return report.ok('signed', `Signed by the pinned key ${verdict.kid}.`);
  const expected = `a key of ${signature.jwks.keys.map(({ kid }) => kid).join(', ') || 'an empty set'}`;
  return report.failed('signed', { detail: verdict.problem, where: name, expected });
}

/** The items of an envelope. */
export function itemsIn(name: string, { item, items }: PartnerEnvelope): Place[] {
  const places = Array.isArray(items)
    ? items.map((value, index) => ({ where: `${name}#/items/${index}`, value }))
    : [{ where: `${name}#/item`, value: item }];
  return places.flatMap(({ where, value }) => (isObject(value) ? [{ where, object: value }] : []));
}

/** With its state in the log. */
const isInLog = ({ object }: Place): boolean => Object.hasOwn(object, 'inclusionPath') && !isFabricProof(object);

function checkProof(report: Reporter, proof: Place, verifier: NoteVerifier): void {
  const { where } = proof;
  const note = { note: stringAt(proof, 'checkpoint'), where: `${where}/checkpoint` };
  const checkpoint = openCheckpoint(report, note, { verifier, channel: stringAt(proof, 'channel'), anyEpoch: true });
  if (checkpoint === undefined) return report.skipped('inclusion', 'There is no checkpoint.');
  const { size, root } = checkpoint;
  report.equal('tree size', {
    ok: `The proof is against the tree of ${size}.`,
    failed: 'The proof is against another tree than the checkpoint.',
    where: `${where}/treeSize`,
    expected: size,
    found: numberAt(proof, 'treeSize'),
  });
  const path = stringsAt(proof, 'inclusionPath').map(hashBytes);
  const leafHash = hashBytes(stringAt(proof, 'leafHash'));
  const index = numberAt(proof, 'index');
  const isIncluded =
    leafHash !== undefined &&
    path.every((hash) => hash !== undefined) &&
    verifyInclusion({ leafHash, index, size, path, root });
  if (isIncluded) return report.ok('inclusion', `Leaf ${index} is in the tree of ${size}.`);
  return report.failed('inclusion', { detail: 'The path does not lead from the leaf to the root.', where });
}
