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

/** An event and how far it was: one whose status has changed is another. */
export type SeenEvent = Pick<IngestEvent, 'eventId' | 'status' | 'at'>;

export interface RecentEvents {
  /** All there are, the known ones too; as many as were asked for at most. */
  readonly seen: readonly SeenEvent[];
  readonly unknown: readonly IngestEvent[];
}

export interface EventFilter {
  readonly networkId?: string;
  readonly type?: string;
  readonly status?: IngestEvent['status'];
  readonly kind?: IngestEvent['kind'];
  /** By its full name. */
  readonly channel?: string;
  /** Of these alone, at most a few hundred. */
  readonly eventIds?: readonly string[];
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface EventStore {
  /** Newest first, behind the event `before`. */
  list(filter: EventFilter, page: { limit: number; before?: string }): Promise<IngestEvent[]>;
  find(eventId: string): Promise<IngestEvent | undefined>;
  /** The ids of the events that a request left, from a moment on; at most a few hundred. See `requestEvents`. */
  ofRequest(requestId: string, from: Date): Promise<string[]>;
  /** The newest events from a moment on, newest first, and in full those that are not known. */
  recent(from: Date, limit: number, isKnown: (event: SeenEvent) => boolean): Promise<RecentEvents>;
}
