import type { FabricReceipt } from '@sealgate/envelope';
import { canonical, sha256, type JsonValue } from '@sealgate/json';
import { parseChannel, type NewRecord, type RecordReceipt, type StoredRecord } from '@sealgate/ledger-port';
import type { ChannelPlace } from './channel-map.ts';
import { ContractRefusedError } from './fabric-errors.ts';

/** A record as returned by the contract. */
export interface ContractRecord {
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly data: JsonValue;
  readonly extra: JsonValue;
  readonly version: number;
  /** Lower hex of SHA-256 over JCS({type, owner, data, extra}). */
  readonly contentHash: string;
  readonly transactionId: string;
  readonly at: string;
}

const CONFLICT = /RECORD_CONFLICT:(\{.*\})/s;

/** The argument of `createMany`. */
export function recordsArgument(records: readonly NewRecord[], { prefix }: ChannelPlace): string {
  if (prefix === '')
    return JSON.stringify(records.map(({ id, type, owner, data, extra }) => ({ id, type, owner, data, extra })));
  return JSON.stringify(
    records.map(({ id, type, owner, data, extra }) => ({ id: prefix + id, type: prefix + type, owner, data, extra })),
  );
}

/** Converts the result of `createMany` to receipts of the port. */
export function receiptsOf(result: Buffer, channel: string, { prefix }: ChannelPlace): RecordReceipt[] {
  const receipts = JSON.parse(result.toString('utf8')) as {
    readonly id: string;
    readonly transactionId: string;
    readonly existing: boolean;
  }[];
  return receipts.map(({ id, transactionId, existing }) => ({
    id: unprefixed(id, prefix),
    channel,
    transactionId,
    existing,
  }));
}

/** The id that holds other content, if the contract's message reports a conflict. */
export function conflictOf(message: string, { prefix }: ChannelPlace): string | undefined {
  const facts = CONFLICT.exec(message)?.[1];
  if (facts === undefined) return undefined;
  const { id } = JSON.parse(facts) as { id: string };
  return unprefixed(id, prefix);
}

/** True if the id or type is invalid for the contract: then there is no such record either. */
export function isImpossible(error: unknown): boolean {
  return error instanceof ContractRefusedError && error.message.startsWith('INVALID_REQUEST:');
}

export function storedRecordOf(record: ContractRecord, channel: string, { prefix }: ChannelPlace): StoredRecord {
  return {
    network: parseChannel(channel)?.networkId ?? '',
    channel,
    id: unprefixed(record.id, prefix),
    type: unprefixed(record.type, prefix),
    owner: record.owner,
    data: record.data,
    extra: record.extra,
    erased: false,
    transactionId: record.transactionId,
    at: record.at,
  };
}

export function fabricReceiptOf(record: ContractRecord, channel: string, place: ChannelPlace): FabricReceipt {
  const { network, id, type, owner, extra, transactionId, at } = storedRecordOf(record, channel, place);
  const { version, contentHash } = record;
  return { network, channel, id, type, owner, extra, version, contentHash, transactionId, at };
}

/** Whether the content matches the hash made by the contract when it was written. */
export function isAsHashed({ type, owner, data, extra, contentHash }: ContractRecord): boolean {
  return sha256(canonical({ type, owner, data, extra })).toString('hex') === contentHash;
}

function unprefixed(text: string, prefix: string): string {
  if (!text.startsWith(prefix)) throw new Error('The contract answered with a record of another channel.');
  return text.slice(prefix.length);
}
