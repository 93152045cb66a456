import { Bytes, canonical, sha256Text } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { leafHash, logProofText } from '@sealgate/merkle';
import type { Declaration } from './declaration.ts';

/** Bytes of the random salt that is hashed before the content of a record. */
export const SALT_BYTES = 32;

/** What the ledger says of one record. All members but `salt`, `extra`, `index` and `epoch` are in its leaf. */
export interface Receipt {
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** SHA-256 over salt and content, lower hex: see `dataHashOf`. */
  readonly dataHash: string;
  /** 32 bytes, lower hex; null once the content was erased. */
  readonly salt: string | null;
  readonly extra: JsonValue | null;
  readonly transactionId: string;
  /** When the ledger took it: RFC 3339, UTC, milliseconds. */
  readonly at: string;
  /** Its place in its log, from 0. */
  readonly index: number;
  /** Of which log of the channel: absent before its first declared loss. */
  readonly epoch?: number;
}

/** Proves that a leaf is in a signed tree. Hashes are lower hex. */
export interface RecordProof {
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly index: number;
  readonly leafHash: string;
  readonly treeSize: number;
  /** Sibling hashes, from the leaf up. */
  readonly inclusionPath: string[];
  /** The signed note, with its newlines. */
  readonly checkpoint: string;
  /** With the two behind it, of a record that was written after a declared loss. */
  readonly epoch?: number;
  /** The first line of the checkpoint. */
  readonly origin?: string;
  /** What that log begins with: entry 0, under the same checkpoint. */
  readonly declaration?: { readonly statement: Declaration; readonly inclusionPath: string[] };
}

/** The members of a receipt that its leaf is made of. */
export type ReceiptLeafMembers = Omit<Receipt, 'salt' | 'extra' | 'index' | 'epoch'>;

/**
 * The RFC 6962 leaf hash of a record: SHA-256(0x00 ‖ JCS({v: 1, network, channel, id, type, owner, dataHash, transactionId, at})).
 * Content is in it only through `dataHash`, so erasing salt and content leaves the leaf, and every proof, as it was.
 * Throws AppError INVALID_JSON when a text has no canonical form.
 */
export function receiptLeaf(receipt: ReceiptLeafMembers): Bytes {
  return leafHash(receiptEntry(receipt));
}

/** What the leaf of a record is hashed over: the entry of its log. Throws as `receiptLeaf`. */
export function receiptEntry(receipt: ReceiptLeafMembers): string {
  const { network, channel, id, type, owner, dataHash, transactionId, at } = receipt;
  return canonical({ v: 1, network, channel, id, type, owner, dataHash, transactionId, at });
}

/** A receipt and its proof as a C2SP tlog-proof file, with the entry as its extra data. The salt is not in it. */
export function receiptLogProof({ receipt, proof }: { receipt: Receipt; proof: RecordProof }): string {
  return logProofText({
    index: proof.index,
    path: proof.inclusionPath.map((hash) => Bytes.from(hash, 'hex')),
    checkpoint: proof.checkpoint,
    extra: Bytes.from(receiptEntry(receipt)),
  });
}

/**
 * The hash of a record's content, lower hex: SHA-256(salt ‖ JCS({data, extra})), `extra` null where there is none.
 * Throws when the salt is not 32 bytes: with salts of any length two pairs of salt and content could hash alike.
 */
export function dataHashOf(salt: Uint8Array, data: JsonValue, extra: JsonValue | null): string {
  if (salt.length !== SALT_BYTES) throw new Error(`A salt is ${SALT_BYTES} bytes long, not ${salt.length}.`);
  const content = Bytes.from(canonical({ data, extra }));
  return sha256Text(Bytes.concat([salt, content]), 'hex');
}
