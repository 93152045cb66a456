/** The result of a write (committed, rejected as a conflict, not yet known), or a ping; without the records' data. */
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

/** An event and its status; an event whose status has changed counts as new. */
export type SeenEvent = Pick<IngestEvent, 'eventId' | 'status' | 'at'>;

interface RecentEvents {
  /** All events found, known ones included, up to the limit. */
  readonly seen: readonly SeenEvent[];
  readonly unknown: readonly IngestEvent[];
}

/** Where and when a record was written. */
export interface RecordPlace {
  readonly network: string;
  /** The full name. */
  readonly channel: string;
  readonly position: number;
  readonly at: Date;
}

/** Asks the ledger for the places of the records with an id in some channels. */
export type PlacesOf = (recordId: string, channels: readonly string[]) => Promise<RecordPlace[]>;

export interface EventFilter {
  readonly networkId?: string;
  /** Of a key, or of a source. */
  readonly keyId?: string;
  readonly type?: string;
  readonly status?: IngestEvent['status'];
  readonly kind?: IngestEvent['kind'];
  /** The full name. */
  readonly channel?: string;
  /** Only these, at most a few hundred. */
  readonly eventIds?: readonly string[];
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
}

export interface EventPage {
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: string | undefined;
  readonly oldestFirst?: boolean;
  /** What `count` has just answered; without it there are taken to be too many to count. */
  readonly counted?: number | undefined;
}

export interface EventStore {
  /** Newest first by default. */
  list(filter: EventFilter, page: EventPage): Promise<IngestEvent[]>;
  /** How many events pass, COUNT_LIMIT at most. */
  count(filter: EventFilter): Promise<number>;
  find(eventId: string): Promise<IngestEvent | undefined>;
  /** The ids of the events of a request, from a moment on; at most a few hundred. See `requestEvents`. */
  ofRequest(requestId: string, from: Date): Promise<string[]>;
  /** The ids of the events of deliveries with this id, newest first, at most a few hundred. */
  ofDelivery(deliveryId: string): Promise<string[]>;
  /**
   * The ids of the events that wrote a record, in the channels of a network, or of a limited number of networks. See
   * `recordEvents`. Rejects as the ledger does.
   */
  ofRecord(recordId: string, of: { readonly networkId?: string | undefined }): Promise<string[]>;
  /** The newest events from a moment on, newest first; those for which `isKnown` is false in full. */
  recent(from: Date, limit: number, isKnown: (event: SeenEvent) => boolean): Promise<RecentEvents>;
}

/** Hex digits of an event id made here, a UUIDv7; the first twelve are its time in milliseconds. */
export const DIGITS = 32;
const TIME_DIGITS = 12;

/** The 32 digits of an event id made here (also a valid uuid literal in SQL); undefined for any other. */
export const digitsOf = (eventId: string): string | undefined => /^evt_([0-9a-f]{32})$/.exec(eventId)?.[1];

/** The lowest id of this millisecond. */
export const firstDigits = (at: Date): string =>
  at.getTime().toString(16).padStart(TIME_DIGITS, '0').padEnd(DIGITS, '0');

/** The time of an id with these digits. */
export const timeOfDigits = (digits: string): Date => new Date(Number.parseInt(digits.slice(0, TIME_DIGITS), 16));
