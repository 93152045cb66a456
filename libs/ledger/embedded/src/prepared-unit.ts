import { sha256 } from '@sealgate/json';
import type { AppendUnit } from '@sealgate/ledger-port';
import { packRecords, type PackedRecords } from './packed-records.ts';

/** A unit with salts, hashes and transaction id computed. Resending it sends the same bytes. */
export interface PreparedUnit {
  readonly unit: AppendUnit;
  /**
   * The part of the note that is stored, and the part that is only passed to the surface's append function (or null).
   */
  readonly note: string;
  readonly beside: string | null;
  readonly nonce: Buffer;
  readonly transactionId: Buffer;
  readonly transactionIdHex: string;
  readonly atMs: number;
  readonly packed: PackedRecords;
  /** Approximate size of the unit in a call. */
  readonly bytes: number;
}

const NONCE_BYTES = 16;
/** Size of a unit in a call besides its note and its records. */
const UNIT_OVERHEAD_BYTES = 160;

/** Computes everything the log needs for a unit. */
export function prepareUnit(unit: AppendUnit, atMs: number, random: (bytes: number) => Buffer): PreparedUnit {
  const { network, channel, claim, records } = unit;
  const [note = '', beside = null] = unit.note.split('\f', 2);
  const nonce = unit.nonce ?? random(NONCE_BYTES);
  const transactionId = transactionIdOf({
    nonce,
    claim: claim?.claim ?? null,
    fingerprint: claim?.fingerprint ?? null,
    channel,
    note,
    recordIds: records.map((record) => record.id),
  });
  const transactionIdHex = transactionId.toString('hex');
  const packed = packRecords(records, { atMs, network, channel, transactionIdHex }, random);
  const bytes = UNIT_OVERHEAD_BYTES + unit.note.length + packed.bytes.length;
  return { unit, note, beside, nonce, transactionId, transactionIdHex, atMs, packed, bytes };
}

export interface TransactionParts {
  /** 16 unpredictable bytes, so that a transaction id cannot be guessed from the request. */
  readonly nonce: Uint8Array;
  readonly claim: Uint8Array | null;
  readonly fingerprint: string | null;
  readonly channel: string;
  readonly note: string;
  readonly recordIds: readonly string[];
}

/**
 * The transaction id: SHA-256 over all columns of its claim row. It is part of every leaf, so the signed tree commits
 * to the claim as well, and an audit that recomputes it detects an edit in any column.
 */
export function transactionIdOf(parts: TransactionParts): Buffer {
  const text = JSON.stringify([
    'sealgate.transaction.v1',
    Buffer.from(parts.nonce).toString('hex'),
    parts.claim === null ? null : Buffer.from(parts.claim).toString('hex'),
    parts.fingerprint,
    parts.channel,
    parts.note,
    parts.recordIds,
  ]);
  return sha256(text);
}
