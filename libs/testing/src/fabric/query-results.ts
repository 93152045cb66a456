import { ledger, peer } from '@hyperledger/fabric-protos';
import type { Modification } from './world-state.ts';

/** One result of a range: a serialized KV. */
export function keyValue(namespace: string, key: string, value: Buffer): Uint8Array {
  const kv = new ledger.queryresult.KV();
  kv.setNamespace(namespace);
  kv.setKey(key);
  kv.setValue(value);
  return kv.serializeBinary();
}

/** One result of a history: a serialized KeyModification. */
export function keyModification({ transactionId, value, timestamp }: Modification): Uint8Array {
  const modification = new ledger.queryresult.KeyModification();
  modification.setTxId(transactionId);
  if (value !== undefined) modification.setValue(value);
  modification.setIsDelete(value === undefined);
  modification.setTimestamp(timestamp);
  return modification.serializeBinary();
}

interface PortionFacts {
  readonly id: string;
  readonly hasMore: boolean;
  readonly metadata?: Uint8Array;
}

/** One message of results: a serialized QueryResponse. */
export function queryResponse(results: readonly Uint8Array[], { id, hasMore, metadata }: PortionFacts): Uint8Array {
  const response = new peer.QueryResponse();
  for (const bytes of results) {
    const result = new peer.QueryResultBytes();
    result.setResultbytes(bytes);
    response.addResults(result);
  }
  response.setId(id);
  response.setHasMore(hasMore);
  if (metadata !== undefined) response.setMetadata(metadata);
  return response.serializeBinary();
}
