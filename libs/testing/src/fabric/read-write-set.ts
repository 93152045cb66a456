import { createHash } from 'node:crypto';
import { ledger } from '@hyperledger/fabric-protos';
import type { Version } from './world-state.ts';

export interface RangeRead {
  readonly start: string;
  /** Where the scan ended: the requested end if reached, else the last key seen. */
  end: string;
  exhausted: boolean;
  readonly reads: Map<string, Version>;
}

/** A write to a private collection. `value` undefined: the key is deleted. */
export interface PrivateWrite {
  readonly collection: string;
  readonly key: string;
  readonly value: Buffer | undefined;
}

interface ReadsAndWrites {
  /** In blocks by their hashes only. */
  readonly privateWrites?: readonly PrivateWrite[];
  /** Undefined: the key did not exist. */
  readonly reads: ReadonlyMap<string, Version | undefined>;
  /** Undefined: the key is deleted. */
  readonly writes: ReadonlyMap<string, Buffer | undefined>;
  readonly ranges: readonly RangeRead[];
}

/** A serialized TxReadWriteSet of one chaincode. */
export function readWriteSet(
  namespace: string,
  { reads, writes, ranges, privateWrites = [] }: ReadsAndWrites,
): Uint8Array {
  const kv = new ledger.rwset.kvrwset.KVRWSet();
  for (const [key, version] of sorted(reads)) kv.addReads(kvRead(key, version));
  for (const range of ranges) kv.addRangeQueriesInfo(rangeQueryInfo(range));
  for (const [key, value] of sorted(writes)) {
    const write = new ledger.rwset.kvrwset.KVWrite();
    write.setKey(key);
    write.setIsDelete(value === undefined);
    if (value !== undefined) write.setValue(value);
    kv.addWrites(write);
  }
  const namespaceSet = new ledger.rwset.NsReadWriteSet();
  namespaceSet.setNamespace(namespace);
  namespaceSet.setRwset(kv.serializeBinary());
  for (const [collection, its] of Map.groupBy(privateWrites, (write) => write.collection))
    namespaceSet.addCollectionHashedRwset(hashedSet(collection, its));
  const set = new ledger.rwset.TxReadWriteSet();
  set.setDataModel(ledger.rwset.TxReadWriteSet.DataModel.KV);
  set.addNsRwset(namespaceSet);
  return set.serializeBinary();
}

function hashedSet(collection: string, writes: readonly PrivateWrite[]) {
  const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest();
  const hashed = new ledger.rwset.kvrwset.HashedRWSet();
  for (const { key, value } of writes) {
    const write = new ledger.rwset.kvrwset.KVWriteHash();
    write.setKeyHash(sha256(key));
    write.setIsDelete(value === undefined);
    if (value !== undefined) write.setValueHash(sha256(value));
    hashed.addHashedWrites(write);
  }
  const set = new ledger.rwset.CollectionHashedReadWriteSet();
  set.setCollectionName(collection);
  set.setHashedRwset(hashed.serializeBinary());
  return set;
}

const sorted = <Value>(entries: ReadonlyMap<string, Value>) =>
  [...entries].sort(([left], [right]) => Buffer.from(left).compare(Buffer.from(right)));

function kvRead(key: string, version: Version | undefined) {
  const read = new ledger.rwset.kvrwset.KVRead();
  read.setKey(key);
  if (version !== undefined) {
    const wire = new ledger.rwset.kvrwset.Version();
    wire.setBlockNum(version.block);
    wire.setTxNum(version.transaction);
    read.setVersion(wire);
  }
  return read;
}

function rangeQueryInfo({ start, end, exhausted, reads }: RangeRead) {
  const info = new ledger.rwset.kvrwset.RangeQueryInfo();
  info.setStartKey(start);
  info.setEndKey(end);
  info.setItrExhausted(exhausted);
  const list = new ledger.rwset.kvrwset.QueryReads();
  for (const [key, version] of reads) list.addKvReads(kvRead(key, version));
  info.setRawReads(list);
  return info;
}
