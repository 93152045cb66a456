import { ledger, peer } from '@hyperledger/fabric-protos';
import type { Version, WorldState } from './world-state.ts';

const { VALID, MVCC_READ_CONFLICT, PHANTOM_READ_CONFLICT } = peer.TxValidationCode;

type KvRead = InstanceType<typeof ledger.rwset.kvrwset.KVRead>;
type RangeQueryInfo = InstanceType<typeof ledger.rwset.kvrwset.RangeQueryInfo>;

export interface KeyWrite {
  readonly namespace: string;
  readonly key: string;
  readonly value: Buffer | undefined;
}

/** The committed state, including earlier transactions of this block. */
type StateOf = (namespace: string) => WorldState;

/**
 * Multi-version concurrency control: checks that each read key still has its version, and each scanned range the same
 * keys and versions. Earlier valid transactions of the block are already applied, so a key written by one of them has a
 * version that no simulation could have read.
 */
export function validateReads(readWriteSet: Uint8Array, stateOf: StateOf): number {
  for (const { namespace, kv } of namespacesOf(readWriteSet)) {
    const state = stateOf(namespace);
    if (!kv.getReadsList().every((read) => isCurrent(read, state))) return MVCC_READ_CONFLICT;
    if (!kv.getRangeQueriesInfoList().every((range) => isSameRange(range, state))) return PHANTOM_READ_CONFLICT;
  }
  return VALID;
}

export function writesOf(readWriteSet: Uint8Array): KeyWrite[] {
  return namespacesOf(readWriteSet).flatMap(({ namespace, kv }) =>
    kv.getWritesList().map((write) => ({
      namespace,
      key: write.getKey(),
      value: write.getIsDelete() ? undefined : Buffer.from(write.getValue_asU8()),
    })),
  );
}

function namespacesOf(readWriteSet: Uint8Array) {
  const set = ledger.rwset.TxReadWriteSet.deserializeBinary(readWriteSet);
  return set.getNsRwsetList().map((entry) => ({
    namespace: entry.getNamespace(),
    kv: ledger.rwset.kvrwset.KVRWSet.deserializeBinary(entry.getRwset_asU8()),
  }));
}

/** Sees every block. */
const NOW = Number.POSITIVE_INFINITY;

function isCurrent(read: KvRead, state: WorldState): boolean {
  return isSameVersion(read, state.get(read.getKey(), NOW)?.version);
}

function isSameVersion(read: KvRead, committed: Version | undefined): boolean {
  const version = read.getVersion();
  if (version === undefined || committed === undefined) return version === undefined && committed === undefined;
  return version.getBlockNum() === committed.block && version.getTxNum() === committed.transaction;
}

function isSameRange(range: RangeQueryInfo, state: WorldState): boolean {
  const reads = range.getRawReads()?.getKvReadsList() ?? [];
  // A scan that stopped early ends with the last key it saw, inclusive.
  const end = range.getItrExhausted() || reads.length === 0 ? range.getEndKey() : `${range.getEndKey()}\u0000`;
  if (!range.getItrExhausted() && reads.length === 0) return true;
  const found = [...state.range(range.getStartKey(), end, NOW)];
  return (
    found.length === reads.length &&
    found.every(([key, { version }], place) => reads[place]!.getKey() === key && isSameVersion(reads[place]!, version))
  );
}
