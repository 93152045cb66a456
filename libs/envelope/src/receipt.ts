import { Bytes, canonical, sha256Text } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { leafHash, logProofText } from '@sealgate/merkle';
import type { Declaration } from './declaration.ts';

/** Length of the random salt that is hashed before a record's content. */
export const SALT_BYTES = 32;

/** The ledger's receipt for one record. Its leaf covers all members but `salt`, `extra`, `index` and `epoch`. */
export interface Receipt {
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** SHA-256 over salt and content, lower-case hex; see `dataHashOf`. */
  readonly dataHash: string;
  /** 32 bytes, lower-case hex; null after erasure. */
  readonly salt: string | null;
  readonly extra: JsonValue | null;
  readonly transactionId: string;
  /** When the ledger committed the record: RFC 3339, UTC, milliseconds. */
  readonly at: string;
  /** Leaf index in its log, from 0. */
  readonly index: number;
  /** The epoch of the channel; absent before the first declared loss. */
  readonly epoch?: number;
}

/** Proves that a leaf is in a signed tree. Hashes are lower-case hex. */
export interface RecordProof {
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly index: number;
  readonly leafHash: string;
  readonly treeSize: number;
  /** Sibling hashes, leaf to root. */
  readonly inclusionPath: string[];
  /** The signed note, including newlines. */
  readonly checkpoint: string;
  /** Present, with the next two members, for records written after a declared loss. */
  readonly epoch?: number;
  /** The first line of the checkpoint. */
  readonly origin?: string;
  /** Entry 0 of that log, with its inclusion path under the same checkpoint. */
  readonly declaration?: { readonly statement: Declaration; readonly inclusionPath: string[] };
}

/** The receipt members that the leaf covers. */
type ReceiptLeafMembers = Omit<Receipt, 'salt' | 'extra' | 'index' | 'epoch'>;

/**
 * The RFC 6962 leaf hash of a record: SHA-256(0x00 ‖ JCS({v: 1, network, channel, id, type, owner, dataHash,
 * transactionId, at})). Content enters only through `dataHash`, so erasing salt and content keeps the leaf and all
 * proofs valid. Throws AppError INVALID_JSON when a text has no canonical form.
 */
export function receiptLeaf(receipt: ReceiptLeafMembers): Bytes {
  return leafHash(receiptEntry(receipt));
}

/** The text that a record's leaf hashes: its log entry. Throws as `receiptLeaf`. */
export function receiptEntry(receipt: ReceiptLeafMembers): string {
  const { network, channel, id, type, owner, dataHash, transactionId, at } = receipt;
  return canonical({ v: 1, network, channel, id, type, owner, dataHash, transactionId, at });
}

/** A receipt and its proof as a C2SP tlog-proof file, with the entry as extra data. Does not contain the salt. */
export function receiptLogProof({ receipt, proof }: { receipt: Receipt; proof: RecordProof }): string {
  return logProofText({
    index: proof.index,
    path: proof.inclusionPath.map((hash) => Bytes.from(hash, 'hex')),
    checkpoint: proof.checkpoint,
    extra: Bytes.from(receiptEntry(receipt)),
  });
}

/**
 * The hash of a record's content, lower-case hex: SHA-256(salt ‖ JCS({data, extra})); `extra` defaults to null. Throws
 * unless the salt is 32 bytes: a fixed length keeps the boundary of salt and content unambiguous.
 */
export function dataHashOf(salt: Uint8Array, data: JsonValue, extra: JsonValue | null): string {
  if (salt.length !== SALT_BYTES) throw new Error(`A salt is ${SALT_BYTES} bytes long, not ${salt.length}.`);
  const content = Bytes.from(canonical({ data, extra }));
  return sha256Text(Bytes.concat([salt, content]), 'hex');
}
