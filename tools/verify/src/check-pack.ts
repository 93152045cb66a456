import { verifyDetached } from '@sealgate/envelope';
import type { Jwks } from '@sealgate/envelope';
import { Bytes, canonical, canonicalHash, sha256 } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import type { NoteVerifier } from '@sealgate/merkle';
import { reportReceipt } from './check-receipt.ts';
import type { PackFile, PackSeal } from './pack-file.ts';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';
import { isObject } from './shape.ts';

interface PackInput {
  readonly file: PackFile;
  /** The pinned keys of packs; without them the author is unknown and the pack is not verified. */
  readonly jwks: Jwks | undefined;
  /** The pinned key of the log of the seals; needed if a seal is in a log. */
  readonly verifier: NoteVerifier | undefined;
  /** Of `checkSealsByPeers`; needed if a seal is on Fabric. */
  readonly byPeers?: PeersReports | undefined;
}

/** What was found of the seals on Fabric, by their place in the pack. */
export type PeersReports = ReadonlyMap<string, Report>;

/**
 * Checks that an assessor pack is signed and unchanged, that no event of the case was changed, removed or moved, and
 * that each seal is in the log, or on Fabric, with exactly the shown document. Continues after a failure.
 */
export function checkPack({ file, jwks, verifier, byPeers }: PackInput): Report {
  const report = startReport();
  checkSigned(report, file, jwks);
  checkTimeline(report, file);
  for (const seal of file.seals) checkSeal(report, file, { seal, verifier, byPeers });
  if (file.seals.length === 0) report.note('The pack has no seal: it is a draft, and nothing of it is in the ledger.');
  report.note('Events after the newest seal are asserted only by the signer of the pack: they are in no log.');
  const proved = file.seals.filter(({ record }) => record !== undefined).length;
  const signed = file.seals.flatMap(({ peers }) => peers ?? []);
  const unproved = file.seals.length - proved - signed.length;
  const sealed = [
    ...(file.seals.length === 0 ? ['Nothing is sealed.'] : []),
    ...(proved === 0 ? [] : [`Its ${proved} seal(s) are in the log.`]),
    ...(signed.length === 0
      ? []
      : [`Its ${signed.length} seal(s) are in the Fabric channel ${signed[0]!.channel}, valid, as peers signed.`]),
    ...(unproved === 0 ? [] : [`${unproved} seal(s) are said to be on Fabric, which is not asked here.`]),
  ].join(' ');
  return report.finish(`The pack of ${file.caseId} is what was signed; its timeline has no gap. ${sealed}`);
}

function checkSigned(report: Reporter, file: PackFile, jwks: Jwks | undefined): void {
  const bytes = Bytes.from(canonical({ ...file.signed }));
  const isUnchanged = report.equal('pack hash', {
    ok: 'The pack has the hash that it names.',
    failed: 'The pack was changed since it was hashed.',
    where: `${file.name}#/pack_hash`,
    expected: file.packHash,
    found: sha256(bytes).toString('hex'),
  });
  const where = `${file.name}#/signature`;
  if (jwks === undefined) {
    const detail = isUnchanged
      ? 'No keys were pinned: the pack is unchanged since hashed, but its author is unknown.'
      : 'No keys were pinned.';
    return report.failed('pack signature', { detail, where });
  }
  const verdict = verifyDetached(bytes, file.signature, jwks);
  if (verdict.ok) return report.ok('pack signature', `Signed by the pinned key ${verdict.kid}.`);
  const expected = `a key of ${jwks.keys.map(({ kid }) => kid).join(', ') || 'an empty set'}`;
  return report.failed('pack signature', { detail: verdict.problem, where, expected });
}

function checkTimeline(report: Reporter, { timeline, name }: PackFile): void {
  const broken = timeline.find((event, index) => {
    const before = index === 0 ? null : (timeline[index - 1]?.hash ?? null);
    return event.seq !== index + 1 || event.prevHash !== before || canonicalHash({ ...event.rest }) !== event.hash;
  });
  if (timeline.length > 0 && broken === undefined) {
    return report.ok('timeline', `Its ${timeline.length} events are a chain without a gap.`);
  }
  const detail = 'An event was changed, left out or moved: it does not fit the chain.';
  return report.failed('timeline', { detail, where: broken?.where ?? `${name}#/timeline` });
}

function checkSeal(
  report: Reporter,
  file: PackFile,
  { seal, verifier, byPeers }: { readonly seal: PackSeal } & Pick<PackInput, 'verifier' | 'byPeers'>,
): void {
  const { document, record, stated, where } = seal;
  report.equal('seal hash', {
    ok: 'The sealed document has the hash that is shown.',
    failed: 'The document is not the one that was hashed.',
    where: `${where}/seal_hash`,
    expected: seal.sealHash,
    found: canonicalHash({ ...document.object }),
  });
  checkDocument(report, file, seal);
  if (stated === undefined) {
    return report.note(
      `The seal ${seal.ledgerRecordId} has no proof: it is said to be on a Fabric network. Read this record there and compare it with the document.`,
    );
  }
  report.equal('seal record', {
    ok: `The proof is of the record ${seal.ledgerRecordId}.`,
    failed: 'The proof is of another record.',
    where: `${where}/proof/receipt/id`,
    expected: seal.ledgerRecordId,
    found: stated.id,
  });
  report.equal('seal type', {
    ok: 'The ledger took it as a seal of a case.',
    failed: 'The record is something else than a seal of a case.',
    where: `${where}/proof/receipt/type`,
    expected: 'case.seal',
    found: stated.type,
  });
  if (record !== undefined) return void reportReceipt(report, { file: record, verifier: needed(verifier) });
  report.include(needed(byPeers?.get(where)));
}

/** Callers refuse a pack before without what one of its proofs needs. */
function needed<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('A proof in the pack is checked without a key or trust file.');
  return value;
}

/** People read the pack and the ledger has the document: both must describe the same case. */
function checkDocument(
  report: Reporter,
  file: PackFile,
  { document, where, sealHash, ledgerRecordId }: PackSeal,
): void {
  const said = document.object;
  const faults: string[] = [];
  const compare = (member: string, shown: JsonValue | undefined): void => {
    if (canonical(said[member] ?? null) !== canonical(shown ?? null)) faults.push(member);
  };
  compare('case_id', file.caseId);
  compare('subject_ref', file.subjectRef);
  const decision = file.decisions.find(({ object }) => object['decision_id'] === said['decision_id'])?.object ?? {};
  for (const member of ['policy_version', 'decision', 'reason_codes', 'valid_until', 'decided_at']) {
    compare(member, decision[member]);
  }
  compare(
    'attachments',
    file.attachments.map(({ object }) => object),
  );
  const isTold = file.timeline.some(
    ({ event, data }) =>
      event === 'case.sealed' &&
      isObject(data) &&
      data['seal_hash'] === sealHash &&
      data['ledger_record_id'] === ledgerRecordId,
  );
  if (!isTold) faults.push('the timeline');
  if (faults.length === 0) return report.ok('seal document', 'The sealed document tells the same as the pack.');
  return report.failed('seal document', {
    detail: `The sealed document and the pack disagree about ${faults.join(', ')}.`,
    where: `${where}/document`,
  });
}
