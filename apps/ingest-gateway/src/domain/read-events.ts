/** What the ledger did with a write (committed, refused as a conflict, or not yet known), or a ping; never what was in it. */
export interface IngestEvent {
  readonly eventId: string;
  readonly kind: 'write' | 'ping';
  readonly networkId: string;
  readonly keyId: string;
  readonly status: 'committed' | 'rejected' | 'unknown';
  readonly types: readonly string[];
  readonly records: readonly { id: string; channel: string; transactionId: string }[];
  readonly transactionIds: readonly string[];
  readonly requestId: string;
  readonly strippedFields: number;
  readonly at: Date;
}

export interface EventFilter {
  readonly networkId?: string;
  readonly type?: string;
  readonly status?: IngestEvent['status'];
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface EventStore {
  /** Newest first, behind the event `before`. */
  list(filter: EventFilter, page: { limit: number; before?: string }): Promise<IngestEvent[]>;
  find(eventId: string): Promise<IngestEvent | undefined>;
}
