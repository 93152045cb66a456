import type { Receipt } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { StoredRecord } from '@sealgate/ledger-port';
import type { Epochs, Place } from './epochs.ts';

/** A row of `record` and `query`. */
export interface RecordRow {
  readonly network: string;
  readonly channel: string;
  readonly idx: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string | null;
  readonly extra: string | null;
  readonly salt: Buffer | null;
  readonly data_hash: Buffer;
  readonly leaf_hash: Buffer;
  readonly transaction_id: Buffer;
  readonly at_ms: string;
}

/** A row of `record` and `query`: complete, or of a record whose content is in an archive file. */
export type FoundRow = Omit<RecordRow, 'data_hash' | 'at_ms'> & {
  readonly data_hash: Buffer | null;
  readonly at_ms: string | null;
  /** First index of the archive file that holds the record; null if the row is complete. */
  readonly archived_from: string | null;
  readonly archived_until: string | null;
  readonly erased: boolean;
};

/** Named in every prepared statement, so that a next version of the functions may return more of them. */
export const FOUND_COLUMNS = [
  ...['network', 'channel', 'idx', 'id', 'type', 'owner', 'data', 'extra', 'salt', 'data_hash', 'leaf_hash'],
  ...['transaction_id', 'at_ms', 'archived_from', 'archived_until', 'erased'],
];

/** What the table no longer holds of archived records; see `archive/`. */
export interface ArchivedRecords {
  /** Completes the rows of archived records. @throws LedgerArchivedError if the archive cannot be read. */
  complete(rows: readonly FoundRow[]): Promise<RecordRow[]>;
  /** The entries of archived records by index, in log order. @throws LedgerArchivedError */
  entries(channel: string, records: { readonly from: number; readonly until: number }): Promise<Buffer[]>;
}

export const parsed = (text: string | null): JsonValue => (text === null ? null : (JSON.parse(text) as JsonValue));

export function storedRecord(row: RecordRow, epochs: Epochs): StoredRecord {
  return {
    network: row.network,
    channel: row.channel,
    id: row.id,
    type: row.type,
    owner: row.owner,
    data: parsed(row.data),
    extra: parsed(row.extra),
    erased: row.salt === null,
    ...epochs.place(row.channel, Number(row.idx)),
    transactionId: row.transaction_id.toString('hex'),
    at: new Date(Number(row.at_ms)).toISOString(),
  };
}

export const receiptOf = (row: RecordRow, epochs: Epochs): Receipt =>
  receiptAt(row, epochs.place(row.channel, Number(row.idx)));

/** Builds a receipt for a record whose leaf is known. */
export function receiptAt(row: Omit<RecordRow, 'leaf_hash'>, place: Place): Receipt {
  return {
    network: row.network,
    channel: row.channel,
    id: row.id,
    type: row.type,
    owner: row.owner,
    dataHash: row.data_hash.toString('hex'),
    salt: row.salt?.toString('hex') ?? null,
    extra: parsed(row.extra),
    transactionId: row.transaction_id.toString('hex'),
    at: new Date(Number(row.at_ms)).toISOString(),
    ...place,
  };
}
