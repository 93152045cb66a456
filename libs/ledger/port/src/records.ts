import type { JsonValue } from '@sealgate/json';

/** What a caller gives to be written. Identity is (network, channel, id); the rest is content. */
export interface NewRecord {
  /** 1-256 code points. */
  readonly id: string;
  /** 1-128 code points. */
  readonly type: string;
  readonly owner: string | null;
  /** The canonical JSON text (RFC 8785) of the data object. */
  readonly data: string;
  /** The canonical JSON text of what stood beside the data, or null. */
  readonly extra: string | null;
}

/** Where a record stands. `index` and `leafHash` are absent on a ledger without a public log (Fabric). */
export interface RecordReceipt {
  readonly id: string;
  readonly channel: string;
  readonly transactionId: string;
  readonly index?: number;
  /** Of which log of the channel `index` is a place; absent before the channel's first declared loss. */
  readonly epoch?: number;
  /** Lower hex of the RFC 6962 leaf hash. */
  readonly leafHash?: string;
  /** True: the record was there before this unit, with this content. */
  readonly existing: boolean;
}

/** A record as it is read back. `data` and `extra` are null once erased. */
export interface StoredRecord {
  readonly network: string;
  readonly channel: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly data: JsonValue;
  readonly extra: JsonValue;
  readonly erased: boolean;
  readonly index?: number;
  /** As in a receipt. */
  readonly epoch?: number;
  readonly transactionId: string;
  /** RFC 3339, UTC, three fraction digits. */
  readonly at: string;
}
