/** A validated record of a caller. */
export interface NewRecord {
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** Canonical JSON text (RFC 8785). */
  readonly data: string;
  /** Canonical JSON text, or null. */
  readonly extra: string | null;
  /** SHA-256 over the RFC 8785 form of {type, owner, data, extra}, lower hex: what "the same content" means. */
  readonly contentHash: string;
}

/** One stored version of a record. */
export interface RecordVersion extends NewRecord {
  /** From 1. */
  readonly version: number;
  readonly transactionId: string;
  /** The submitter's timestamp: RFC 3339, UTC, three fraction digits. */
  readonly at: string;
}

/** The part of the newest version that decides about a write; the rest is not read. */
export type RecordHead = Pick<RecordVersion, 'type' | 'version' | 'contentHash' | 'transactionId'>;

/** Result of one record of a write. */
export interface Receipt {
  readonly id: string;
  /** The transaction that wrote this content. */
  readonly transactionId: string;
  /** True if it existed before this transaction, with this content. */
  readonly existing: boolean;
  readonly version: number;
}
