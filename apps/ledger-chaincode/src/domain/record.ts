/** A record as a caller gives it, checked. */
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

/** One version of a record, as it is kept and read. */
export interface RecordVersion extends NewRecord {
  /** From 1. */
  readonly version: number;
  readonly transactionId: string;
  /** What the submitter said the time was: RFC 3339, UTC, three fraction digits. */
  readonly at: string;
}

/** What must be known of the newest version to decide about a write; the rest stays unread. */
export type RecordHead = Pick<RecordVersion, 'type' | 'version' | 'contentHash' | 'transactionId'>;

/** What became of one record of a write. */
export interface Receipt {
  readonly id: string;
  /** The transaction that wrote this content. */
  readonly transactionId: string;
  /** True: it was there before this transaction, with this content. */
  readonly existing: boolean;
  readonly version: number;
}
