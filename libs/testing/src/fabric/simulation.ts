import { ledger, peer } from '@hyperledger/fabric-protos';
import { readWriteSet, type PrivateWrite, type RangeRead } from './read-write-set.ts';
import type { Modification, Version, WorldState } from './world-state.ts';

const { Type } = peer.ChaincodeMessage;

/** Number of results per message between peer and chaincode for queries without paging. */
const PORTION = 100;

/** What a simulation sees of a chaincode. */
interface SimulatedState {
  readonly namespace: string;
  readonly state: WorldState;
  /** Undefined for a collection that is not defined. */
  readonly collectionState?: (collection: string) => WorldState | undefined;
}

interface OpenQuery {
  readonly results: Iterator<Uint8Array>;
  ahead: IteratorResult<Uint8Array>;
}

/**
 * Simulation of one proposal: answers the chaincode's state requests as of one height and records them for validation
 * at commit. Reads do not see earlier writes, as in Fabric.
 */
export class Simulation {
  readonly #namespace: string;
  readonly #state: WorldState;
  readonly #height: number;
  readonly #transactionId: string;
  readonly #reads = new Map<string, Version | undefined>();
  readonly #writes = new Map<string, Buffer | undefined>();
  readonly #privateWrites: PrivateWrite[] = [];
  readonly #collectionState: (collection: string) => WorldState | undefined;
  readonly #ranges: RangeRead[] = [];
  readonly #queries = new Map<string, OpenQuery>();
  #paged = false;
  #opened = 0;

  constructor(
    { namespace, state, collectionState = () => undefined }: SimulatedState,
    height: number,
    transactionId: string,
  ) {
    this.#namespace = namespace;
    this.#collectionState = collectionState;
    this.#state = state;
    this.#height = height;
    this.#transactionId = transactionId;
  }

  /**
   * Handles one request of the chaincode and returns the payload of the RESPONSE.
   * @throws Error with the text for ERROR.
   */
  answer(type: number, payload: Uint8Array): Uint8Array {
    switch (type) {
      case Type.GET_STATE:
        return this.#getState(peer.GetState.deserializeBinary(payload));
      case Type.PUT_STATE: {
        const put = peer.PutState.deserializeBinary(payload);
        return this.#write(put.getKey(), put.getCollection(), Buffer.from(put.getValue_asU8()));
      }
      case Type.DEL_STATE: {
        const removal = peer.DelState.deserializeBinary(payload);
        return this.#write(removal.getKey(), removal.getCollection(), undefined);
      }
      case Type.GET_STATE_BY_RANGE:
        return this.#range(peer.GetStateByRange.deserializeBinary(payload));
      case Type.GET_HISTORY_FOR_KEY:
        return this.#history(peer.GetHistoryForKey.deserializeBinary(payload).getKey());
      case Type.QUERY_STATE_NEXT:
        return this.#next(peer.QueryStateNext.deserializeBinary(payload).getId());
      case Type.QUERY_STATE_CLOSE: {
        const id = peer.QueryStateClose.deserializeBinary(payload).getId();
        this.#queries.delete(id);
        return queryResponse([], { id, hasMore: false });
      }
      case Type.GET_QUERY_RESULT:
        throw new Error('ExecuteQuery not supported for leveldb');
      default:
        throw new Error(`the stand-in peer does not support messages of type ${type}`);
    }
  }

  /** The reads and writes as a serialized TxReadWriteSet, which an endorsement signs. */
  readWriteSet(): Uint8Array {
    const privateWrites = this.#privateWrites;
    const [reads, writes, ranges] = [this.#reads, this.#writes, this.#ranges];
    return readWriteSet(this.#namespace, { reads, writes, ranges, privateWrites });
  }

  /** What a peer keeps beside the ledger until the transaction is in a block. */
  get privateWrites(): readonly PrivateWrite[] {
    return this.#privateWrites;
  }

  #getState(request: InstanceType<typeof peer.GetState>): Uint8Array {
    const collection = request.getCollection();
    if (collection !== '') {
      const kept = this.#stateOf(collection).get(request.getKey(), this.#height);
      return kept?.value ?? new Uint8Array();
    }
    const found = this.#state.get(request.getKey(), this.#height);
    this.#reads.set(request.getKey(), found?.version);
    return found?.value ?? new Uint8Array();
  }

  #write(key: string, collection: string, value: Buffer | undefined): Uint8Array {
    if (collection !== '') {
      this.#stateOf(collection);
      this.#privateWrites.push({ collection, key, value });
      return new Uint8Array();
    }
    if (this.#paged) {
      throw new Error(
        `txid [${this.#transactionId}]: unsupported transaction. Transaction has already performed a paginated query. Writes are not allowed`,
      );
    }
    if (key === '') throw new Error('key is an empty string'); // As in Go's shim; no peer stores such a key.
    this.#writes.set(key, value);
    return new Uint8Array();
  }

  /** @throws Error for a collection that is not defined. */
  #stateOf(collection: string): WorldState {
    const state = this.#collectionState(collection);
    if (state === undefined) throw new Error(`collection ${collection} could not be found`);
    return state;
  }

  #range(request: InstanceType<typeof peer.GetStateByRange>): Uint8Array {
    if (request.getCollection() !== '') throw new Error('the stand-in peer has no ranges of private data');
    const end = request.getEndkey();
    const metadata = request.getMetadata_asU8();
    const paging = metadata.length === 0 ? undefined : peer.QueryMetadata.deserializeBinary(metadata);
    const start = paging?.getBookmark() || request.getStartkey();
    const read: RangeRead = { start, end: start, exhausted: false, reads: new Map() };
    this.#ranges.push(read);
    const found = this.#scan(read, end);
    if (paging === undefined) return this.#open(found);
    if (this.#writes.size > 0) {
      throw new Error(
        `txid [${this.#transactionId}]: unsupported transaction. Paginated queries are supported only in a read-only transaction`,
      );
    }
    this.#paged = true;
    return this.#page(found, paging.getPagesize(), start, end);
  }

  *#scan(read: RangeRead, end: string): Generator<Uint8Array> {
    for (const [key, found] of this.#state.range(read.start, end, this.#height)) {
      read.end = key;
      read.reads.set(key, found.version);
      yield keyValue(this.#namespace, key, found.value);
    }
    read.end = end;
    read.exhausted = true;
  }

  /** The whole page, with the next key as bookmark; '' if there is none. */
  #page(found: Iterator<Uint8Array>, pageSize: number, start: string, end: string): Uint8Array {
    const results: Uint8Array[] = [];
    while (results.length < pageSize) {
      const { done, value } = found.next();
      if (done === true) break;
      results.push(value);
    }
    let bookmark = '';
    let place = 0;
    for (const [key] of this.#state.range(start, end, this.#height)) {
      if (place === results.length) {
        bookmark = key;
        break;
      }
      place += 1;
    }
    const responseMetadata = new peer.QueryResponseMetadata();
    responseMetadata.setFetchedRecordsCount(results.length);
    responseMetadata.setBookmark(bookmark);
    return queryResponse(results, { id: 'page', hasMore: false, metadata: responseMetadata.serializeBinary() });
  }

  #history(key: string): Uint8Array {
    return this.#open(this.#state.history(key).map(keyModification)[Symbol.iterator]());
  }

  #open(results: Iterator<Uint8Array>): Uint8Array {
    this.#opened += 1;
    const id = `query-${this.#opened}`;
    this.#queries.set(id, { results, ahead: results.next() });
    return this.#next(id);
  }

  #next(id: string): Uint8Array {
    const query = this.#queries.get(id);
    if (query === undefined) throw new Error('query iterator not found');
    const portion: Uint8Array[] = [];
    while (query.ahead.done !== true && portion.length < PORTION) {
      portion.push(query.ahead.value);
      query.ahead = query.results.next();
    }
    const hasMore = query.ahead.done !== true;
    if (!hasMore) this.#queries.delete(id);
    return queryResponse(portion, { id, hasMore });
  }
}

/** One result of a range: a serialized KV. */
function keyValue(namespace: string, key: string, value: Buffer): Uint8Array {
  const kv = new ledger.queryresult.KV();
  kv.setNamespace(namespace);
  kv.setKey(key);
  kv.setValue(value);
  return kv.serializeBinary();
}

/** One result of a history: a serialized KeyModification. */
function keyModification({ transactionId, value, timestamp }: Modification): Uint8Array {
  const modification = new ledger.queryresult.KeyModification();
  modification.setTxId(transactionId);
  if (value !== undefined) modification.setValue(value);
  modification.setIsDelete(value === undefined);
  modification.setTimestamp(timestamp);
  return modification.serializeBinary();
}

/** One message of results: a serialized QueryResponse. */
function queryResponse(
  results: readonly Uint8Array[],
  {
    id,
    hasMore,
    metadata,
  }: {
    readonly id: string;
    readonly hasMore: boolean;
    readonly metadata?: Uint8Array;
  },
): Uint8Array {
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
