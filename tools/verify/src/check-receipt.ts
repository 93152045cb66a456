import { dataHashOf, logName, type Receipt, receiptLeaf } from '@sealgate/envelope';
import { type Bytes, canonical, type JsonValue } from '@sealgate/json';
import { type Checkpoint, type NoteVerifier, rootFromInclusion } from '@sealgate/merkle';
import { type DeclarationFile, reportDeclaration, reportLoss } from './check-declaration.ts';
import type { ReceiptFile, StatedContent } from './receipt-file.ts';
import { entryCount, type Report, type Reporter, startReport } from './report.ts';
import { hashBytes, isObject } from './shape.ts';
import { openCheckpoint, signersOf } from './signed-checkpoint.ts';

interface ReceiptInput {
  readonly file: ReceiptFile;
  readonly verifier: NoteVerifier;
  /** The content as the sender saved it, if it should be checked. */
  readonly data?: { readonly name: string; readonly value: JsonValue } | undefined;
  /** The declaration of a later epoch, to find out whether the record was lost. */
  readonly declaration?: DeclarationFile | undefined;
}

/**
 * Checks that a record is in the log: content, leaf, position in the tree, and the signature of the tree. Never throws
 * for the content of the file; continues after a failure.
 */
export function checkReceipt(input: ReceiptInput): Report {
  const report = startReport();
  return report.finish(reportReceipt(report, input));
}

/** The steps of `checkReceipt`, for checks with further steps. Returns the proved sentence if none failed. */
export function reportReceipt(report: Reporter, { file, verifier, data, declaration }: ReceiptInput): string {
  const { receipt, proof } = file;
  const { epoch = 0 } = receipt;
  checkAgreement(report, file);
  const given = data === undefined ? [] : [{ where: `${data.name}#`, data: data.value, members: {} }];
  const content = checkContent(report, file, [...given, ...file.contents]);
  for (const stated of file.contents) checkMembers(report, receipt, stated);
  checkLeaf(report, file);
  const where = `${file.name}#/proof/checkpoint`;
  const checkpoint = openCheckpoint(
    report,
    { note: proof.checkpoint, where },
    {
      verifier,
      channel: logName(receipt.channel, epoch),
    },
  );
  checkInclusion(report, file, checkpoint);
  if (epoch > 0) checkEpoch(report, file, checkpoint);
  const asked = { verifier, receipt, checkpoint, own: proof.declaration?.statement };
  const loss = declaration === undefined ? '' : ` ${reportLoss(report, { file: declaration, ...asked })}`;
  report.note(
    `The time ${receipt.at} is the ledger's word; a checkpoint kept from then proves that the entry was there.`,
  );
  return (
    `Record ${receipt.id} is entry ${proof.index} of ${proof.treeSize} in ${logName(receipt.channel, epoch)}, written at ${receipt.at} ` +
    `in transaction ${receipt.transactionId}, in a tree signed by ${signersOf(proof.checkpoint, verifier)}. ${content}${loss}`
  );
}

/** Checks that an entry is in the log, whatever it says: its position in the tree, and the signature of the tree. */
export function checkEntry({ verifier, ...file }: InLog & Pick<ReceiptInput, 'verifier'>): Report {
  const report = startReport();
  const { proof, name } = file;
  const log = logName(proof.channel, proof.epoch ?? 0);
  const note = { note: proof.checkpoint, where: `${name}#/proof/checkpoint` };
  const checkpoint = openCheckpoint(report, note, { verifier, channel: log });
  checkInclusion(report, file, checkpoint);
  if (proof.epoch !== undefined) checkEpoch(report, file, checkpoint);
  const signers = signersOf(proof.checkpoint, verifier);
  return report.finish(`Entry ${proof.index} of ${proof.treeSize} in ${log} is in a tree signed by ${signers}.`);
}

type InLog = Pick<ReceiptFile, 'name' | 'proof'>;

/** Its index was reused for another record, which was signed for, and lost. */
const EARLIER_PLACE =
  'The receipt names a place in the log before the declared loss, the proof one in the log after it. Where it was given ' +
  'between a restore and the declaration, that place was never its own: take the receipt that comes with the proof.';

function checkAgreement(report: Reporter, { name, receipt, proof }: ReceiptFile): void {
  const isAgreed = receipt.channel === proof.channel && receipt.index === proof.index && receipt.epoch === proof.epoch;
  if (isAgreed && receipt.channel.startsWith(`${receipt.network}.`)) {
    report.ok('agreement', `Receipt and proof are both of entry ${proof.index} of ${proof.channel}.`);
    return;
  }
  const isOfEarlierLog = receipt.channel === proof.channel && (receipt.epoch ?? 0) < (proof.epoch ?? 0);
  const entries = isOfEarlierLog ? EARLIER_PLACE : 'Receipt and proof are of different entries.';
  report.failed('agreement', {
    detail: isAgreed ? 'The channel is not of the network.' : entries,
    where: `${name}#/proof`,
    expected: `entry ${receipt.index} of ${isAgreed ? `${receipt.network}.<name>` : receipt.channel}`,
    found: `entry ${proof.index} of ${proof.channel}`,
  });
}

/** A log after a declared loss begins with the declaration, and every proof of it includes it. */
function checkEpoch(report: Reporter, { name, proof }: InLog, checkpoint: Checkpoint | undefined): void {
  const where = `${name}#/proof/declaration`;
  if (proof.declaration === undefined) {
    report.failed('declaration', { detail: 'The proof is of an epoch and does not show its declaration.', where });
    return;
  }
  const { statement } = proof.declaration;
  reportDeclaration(report, { where: `${where}/statement`, ...proof.declaration }, checkpoint);
  report.note(
    `Epoch ${statement.epoch} of ${statement.channel} began at ${statement.at}, when ${statement.actor} declared records lost: ${statement.reason}`,
  );
}

/** A record or asset next to the receipt must agree with it: people read one, and the proof is about the other. */
function checkMembers(report: Reporter, receipt: Receipt, { where, members }: StatedContent): void {
  for (const [member, expected] of Object.entries(receipt)) {
    const found = Object.hasOwn(members, member) ? members[member] : undefined;
    if (found === undefined || canonical(found) === canonical(expected)) continue;
    report.failed('agreement', {
      detail: `The record beside the receipt has another ${member}.`,
      where: where.replace(/data$/, member),
      expected: canonical(expected),
      found: canonical(found),
    });
  }
}

function checkLeaf(report: Reporter, { name, receipt, proof }: ReceiptFile): void {
  report.equal('leaf', {
    ok: 'The receipt hashes to leafHash.',
    failed: 'A member of the receipt, or the leaf hash, was changed: the receipt does not hash to it.',
    where: `${name}#/proof/leafHash`,
    expected: receiptLeaf(receipt).toString('hex'),
    found: proof.leafHash,
  });
}

function checkInclusion(report: Reporter, { name, proof }: InLog, checkpoint: Checkpoint | undefined): void {
  if (checkpoint === undefined) {
    report.skipped('inclusion', 'There is no checkpoint to compare the inclusion path with.');
    return;
  }
  report.equal('size', {
    ok: `The proof is against the tree of ${entryCount(checkpoint.size)} that the checkpoint is of.`,
    failed: 'The proof is against a tree of another size than the checkpoint.',
    where: `${name}#/proof/treeSize`,
    expected: checkpoint.size,
    found: proof.treeSize,
  });
  const root = rootOf(proof);
  if (root === undefined) {
    const detail =
      'The inclusion path cannot be one: a hash is malformed, or it is too long or too short for this entry.';
    report.failed('inclusion', { detail, where: `${name}#/proof/inclusionPath` });
    return;
  }
  report.equal('inclusion', {
    ok: 'The inclusion path leads from the leaf to the root in the checkpoint.',
    failed: 'The inclusion path leads to another root: leaf, place, path or checkpoint was changed.',
    where: `${name}#/proof/inclusionPath`,
    expected: checkpoint.root.toString('hex'),
    found: root.toString('hex'),
  });
}

function rootOf({ leafHash, index, treeSize, inclusionPath }: ReceiptFile['proof']): Bytes | undefined {
  const leaf = hashBytes(leafHash);
  const path = inclusionPath.map(hashBytes).filter((hash) => hash !== undefined);
  if (leaf === undefined || path.length !== inclusionPath.length) return undefined;
  return rootFromInclusion({ leafHash: leaf, index, size: treeSize, path });
}

const ERASED = 'Proved: something was written then; its content was erased.';

/**
 * Checks the claimed content of a record against the hash in its receipt. Returns a sentence for the conclusion: what
 * is proved about the content.
 */
function checkContent(report: Reporter, { name, receipt }: ReceiptFile, contents: readonly StatedContent[]): string {
  if (receipt.salt === null) return checkErased(report, { name, receipt }, contents);
  const salt = hashBytes(receipt.salt);
  if (salt === undefined) {
    const expected = '64 lower hex digits, or null';
    const where = `${name}#/receipt/salt`;
    report.failed('content', { detail: 'The salt is malformed.', where, expected, found: receipt.salt });
    return '';
  }
  for (const content of contents) checkOne(report, { receipt, salt }, content);
  if (contents.length > 0) return 'Its content is proved.';
  report.skipped('content', 'The content was not given, so its hash was not recomputed.');
  return 'Its content was not given, so only its hash is proved.';
}

function checkOne(
  report: Reporter,
  { receipt, salt }: { receipt: Receipt; salt: Bytes },
  content: StatedContent,
): void {
  const found = dataHashOf(salt, content.data, receipt.extra);
  if (found !== receipt.dataHash && isWhole(content.data, { receipt, salt })) {
    report.ok('content', `Salt, ${content.where}/data and extra hash to dataHash.`);
    return;
  }
  report.equal('content', {
    ok: `Salt, ${content.where.replace(/#$/, '')} and extra hash to dataHash.`,
    failed: 'This is not the content that was written: it does not hash to dataHash.',
    where: content.where,
    expected: receipt.dataHash,
    found,
  });
}

/** Whether a whole saved record was given instead of its data. The hash decides. */
function isWhole(value: JsonValue, { receipt, salt }: { receipt: Receipt; salt: Bytes }): boolean {
  const data = isObject(value) ? value['data'] : undefined;
  return data !== undefined && dataHashOf(salt, data, receipt.extra) === receipt.dataHash;
}

function checkErased(
  report: Reporter,
  { name, receipt }: { name: string; receipt: Receipt },
  contents: readonly StatedContent[],
): string {
  if (receipt.extra !== null) {
    report.failed('content', {
      detail: 'The salt is erased, so nothing can prove this extra.',
      where: `${name}#/receipt/extra`,
      expected: 'null',
      found: canonical(receipt.extra),
    });
  }
  const [stated] = contents.filter(({ data }) => data !== null);
  if (stated !== undefined) {
    report.failed('content', {
      detail: 'The salt is erased, so nothing can prove this content.',
      where: stated.where,
      expected: 'null',
      found: 'content',
    });
  }
  if (receipt.extra === null && stated === undefined) report.ok('content', ERASED);
  return ERASED;
}
