import {
  dataHashOf,
  declarationLeaf,
  hashedBytesOf,
  hasTrueHash,
  isPartnerEnvelope,
  logName,
  receiptLeaf,
  verifyDetached,
  type Jwks,
  type Receipt,
  type RecordProof,
} from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { Bytes, parseStrict, type JsonValue } from '@sealgate/json';
import { anyOf, noteVerifier, parseCheckpoint, settleSignatures, verifyInclusion } from '@sealgate/merkle';

/** The answer is not proved by a pinned key; the message says why. Do not use any of it. */
export class UnprovedError extends Error {
  override readonly name = 'UnprovedError';
}

/**
 * Verifies that an answer of the partner API is an envelope signed by a pinned key, byte for byte.
 * @param text The body as received.
 * @param signature The header `Evidence-Signature`, a detached JWS (RFC 7515 appendix F).
 * @param pinned Keys obtained independently of the answer.
 * @returns The envelope. Throws UnprovedError.
 */
export async function provedEnvelope(
  text: string,
  signature: string | null,
  pinned: Jwks,
): Promise<{ readonly [member: string]: JsonValue }> {
  const envelope = parsed(text);
  if (!isPartnerEnvelope(envelope)) throw new UnprovedError('The answer is not a partner envelope.');
  if (signature === null) throw new UnprovedError('The answer is not signed.');
  const bytes = hashedBytesOf(envelope);
  const verdict = await settleSignatures(() => verifyDetached(bytes, signature, pinned));
  if (!verdict.ok) throw new UnprovedError(verdict.problem);
  // The signature is over the other members.
  if (!hasTrueHash(envelope)) throw new UnprovedError('The envelope does not have the hash that it names.');
  return envelope;
}

/**
 * A receipt with its proof, as returned by `/ledger/{channel}/records/{id}/proof` and, of a record in a log, by the
 * ledger's admin routes. What peers of Fabric signed (`kind` of the proof) is checked by `sealgate-verify receipt`.
 */
export interface ProvedRecord {
  readonly receipt: Receipt;
  readonly proof: RecordProof;
}

/**
 * Verifies that a record is in the log: the leaf of its receipt leads to the root of a checkpoint signed by a pinned
 * key (RFC 9162 section 2.1.3.2; C2SP signed-note and tlog-checkpoint).
 * @param keys Verifier keys, `<name>+<hash>+<base64>`, obtained independently of the proof.
 * @param content The content sent; if given, the receipt must be of that content.
 * Throws UnprovedError, and an Error for an unreadable key.
 */
export async function checkRecord(
  { receipt, proof }: ProvedRecord,
  keys: readonly string[],
  content?: { readonly data: JsonValue; readonly extra?: JsonValue | null },
): Promise<void> {
  const verifier = anyOf(keys.map(noteVerifier));
  if (verifier === undefined) throw new Error('There is no pinned key.');
  const isOfOneEntry =
    receipt.channel === proof.channel &&
    receipt.index === proof.index &&
    receipt.epoch === proof.epoch &&
    receipt.channel.startsWith(`${receipt.network}.`);
  if (!isOfOneEntry) throw new UnprovedError('Receipt and proof are of different entries.');
  checkContent(receipt, content);
  const leafHash = attempt(() => receiptLeaf(receipt));
  if (leafHash.toString('hex') !== proof.leafHash) throw new UnprovedError('The receipt does not hash to the leaf.');
  const signed = await settleSignatures(() => verifier.verify(proof.checkpoint));
  if (signed === undefined) throw new UnprovedError('The checkpoint is not signed by a pinned key.');
  const tree = attempt(() => parseCheckpoint(signed.text));
  if (tree.origin !== `${verifier.name}/${logName(receipt.channel, receipt.epoch ?? 0)}`)
    throw new UnprovedError('The checkpoint is of another log.');
  if (tree.size !== proof.treeSize) throw new UnprovedError('The proof is against another tree than the checkpoint.');
  if (!isIncluded(tree, { leafHash, index: proof.index, path: proof.inclusionPath }))
    throw new UnprovedError('The inclusion path does not lead from the leaf to the root.');
  checkEpoch(receipt, proof, tree);
}

function checkContent(receipt: Receipt, content?: { data: JsonValue; extra?: JsonValue | null }): void {
  if (content === undefined) return;
  if (receipt.salt === null) throw new UnprovedError('The content was erased: its salt is gone.');
  const salt = Bytes.from(receipt.salt, 'hex');
  const hash = attempt(() => dataHashOf(salt, content.data, content.extra ?? null));
  if (hash !== receipt.dataHash) throw new UnprovedError('The record has another content.');
}

/** The first leaf of a log after a declared loss is the declaration. */
function checkEpoch(receipt: Receipt, { declaration }: RecordProof, tree: Tree): void {
  if ((receipt.epoch ?? 0) === 0) return;
  const isOfThisLog =
    declaration !== undefined &&
    declaration.statement.epoch === receipt.epoch &&
    declaration.statement.channel === receipt.channel &&
    declaration.statement.origin === tree.origin;
  if (!isOfThisLog) throw new UnprovedError('The proof does not show the declaration that its log begins with.');
  const leafHash = attempt(() => declarationLeaf(declaration.statement));
  if (!isIncluded(tree, { leafHash, index: 0, path: declaration.inclusionPath }))
    throw new UnprovedError('The declaration is not the first entry of the log.');
}

interface Tree {
  readonly origin: string;
  readonly size: number;
  readonly root: Bytes;
}

function isIncluded(
  { size, root }: Tree,
  { leafHash, index, path }: { leafHash: Bytes; index: number; path: readonly string[] },
): boolean {
  if (!path.every((hash) => /^[0-9a-f]{64}$/.test(hash))) return false;
  return verifyInclusion({ leafHash, index, size, path: path.map((hash) => Bytes.from(hash, 'hex')), root });
}

function parsed(text: string): JsonValue {
  try {
    return parseStrict(Bytes.from(text));
  } catch (error) {
    if (error instanceof AppError) throw new UnprovedError('The answer is not signable JSON.');
    throw error;
  }
}

/** Parsers of proofs throw plain Errors for malformed input. */
function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UnprovedError(error instanceof Error ? error.message : 'The proof cannot be read.', { cause: error });
  }
}
