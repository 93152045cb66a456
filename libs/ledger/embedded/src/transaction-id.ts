import { sha256 } from '@sealgate/json';

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
