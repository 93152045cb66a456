import { sha256 } from '@sealgate/json';
import type { AppendUnit } from '@sealgate/ledger-port';
import { packRecords, type PackedRecords } from './packed-records.ts';

/** A unit with everything the log needs worked out: salts, hashes, transaction id. Sent again, it is the same bytes. */
export interface PreparedUnit {
  readonly unit: AppendUnit;
  /** What is kept of its note, and what the surface's own function is given besides: null where there is nothing. */
  readonly note: string;
  readonly beside: string | null;
  readonly nonce: Buffer;
  readonly transactionId: Buffer;
  readonly transactionIdHex: string;
  readonly atMs: number;
  readonly packed: PackedRecords;
  /** About how many bytes the unit puts into a call. */
  readonly bytes: number;
}

const NONCE_BYTES = 16;
/** What a unit puts into a call besides its note and its records. */
const UNIT_OVERHEAD_BYTES = 160;

/** Works out all that the log needs of a unit. */
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
  /** 16 bytes that nobody could know before, so that nobody can guess a transaction id from what was sent. */
  readonly nonce: Uint8Array;
  readonly claim: Uint8Array | null;
  readonly fingerprint: string | null;
  readonly channel: string;
  readonly note: string;
  readonly recordIds: readonly string[];
}

/**
 * The 32 bytes that name a transaction: SHA-256 over all that its claim row says. It is part of every leaf, so the
 * signed tree vouches for the claim as well, and an audit that recomputes it sees an edit in any column.
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
