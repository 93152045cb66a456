import type { Receipt } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import type { StoredRecord } from '@sealgate/ledger-port';

/** A row of `record_v1` and `query_v1`. */
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

const parsed = (text: string | null): JsonValue => (text === null ? null : (JSON.parse(text) as JsonValue));

export function storedRecord(row: RecordRow): StoredRecord {
  return {
    network: row.network,
    channel: row.channel,
    id: row.id,
    type: row.type,
    owner: row.owner,
    data: parsed(row.data),
    extra: parsed(row.extra),
    erased: row.salt === null,
    index: Number(row.idx),
    transactionId: row.transaction_id.toString('hex'),
    at: new Date(Number(row.at_ms)).toISOString(),
  };
}

export function receiptOf(row: RecordRow): Receipt {
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
    index: Number(row.idx),
  };
}
