/** A claim that is taken together with a journal row. See `@sealgate/idempotency`. */
export interface NewClaim {
  /** 32 bytes that name (scope, key). */
  readonly claim: Buffer;
  readonly fingerprint: string;
  /** Our name of the channel. */
  readonly channel: string;
  /** The caller's own words, given back by a replay. */
  readonly note: string;
  /** JSON: what the caller is to be told again. */
  readonly receipts: string;
}

/** What is journalled of a transaction before it is submitted: all that it takes to send it again and to settle it. */
export interface JournalEntry {
  readonly transactionId: string;
  /** Fabric's name. */
  readonly channel: string;
  /** The signed request that submits it; sent again, it is these bytes. */
  readonly request: Buffer;
  readonly fromBlock: number | undefined;
  readonly reference: string | undefined;
  readonly note: string | undefined;
  readonly claim: NewClaim | undefined;
}

/** How a transaction ended. */
export interface Ending {
  readonly transactionId: string;
  readonly status: 'committed' | 'invalid' | 'refused';
  /** The validation code, or what the orderer said. */
  readonly detail: string | null;
  readonly blockNumber: number | null;
  readonly result: Uint8Array | null;
}

/** A transaction of another process that is gone. */
export interface OrphanEntry {
  readonly transactionId: string;
  readonly channel: string;
  readonly request: Buffer;
  readonly fromBlock: number | undefined;
  readonly note: string | undefined;
  readonly begunAtMs: number;
}
