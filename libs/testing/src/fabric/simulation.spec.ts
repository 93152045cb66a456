import { describe, expect, it } from '@jest/globals';
import { ledger, peer } from '@hyperledger/fabric-protos';
import { Simulation } from './simulation.ts';
import { WorldState } from './world-state.ts';

const { Type } = peer.ChaincodeMessage;

function stateOf(count: number): WorldState {
  const state = new WorldState();
  for (let place = 0; place < count; place += 1) {
    const key = `k${String(place).padStart(4, '0')}`;
    const facts = { block: 1, transaction: 0, transactionId: 'tx', timestamp: undefined };
    state.apply(key, { ...facts, value: Buffer.from(key) });
  }
  return state;
}
const simulation = (count = 0) => new Simulation({ namespace: 'cc', state: stateOf(count) }, 2, 'tx-2');

function put(key: string, value = 'v', collection = '') {
  const request = new peer.PutState();
  request.setKey(key);
  request.setValue(Buffer.from(value));
  request.setCollection(collection);
  return [Type.PUT_STATE, request.serializeBinary()] as const;
}
function get(key: string) {
  const request = new peer.GetState();
  request.setKey(key);
  return [Type.GET_STATE, request.serializeBinary()] as const;
}
function range(start: string, end: string, page?: { readonly size: number; readonly bookmark: string }) {
  const request = new peer.GetStateByRange();
  request.setStartkey(start);
  request.setEndkey(end);
  if (page !== undefined) {
    const metadata = new peer.QueryMetadata();
    metadata.setPagesize(page.size);
    metadata.setBookmark(page.bookmark);
    request.setMetadata(metadata.serializeBinary());
  }
  return [Type.GET_STATE_BY_RANGE, request.serializeBinary()] as const;
}
const ask = (one: Simulation, [type, payload]: readonly [number, Uint8Array]) => one.answer(type, payload);
const results = (one: Simulation, request: readonly [number, Uint8Array]) => {
  const response = peer.QueryResponse.deserializeBinary(ask(one, request));
  return {
    keys: response
      .getResultsList()
      .map((result) => ledger.queryresult.KV.deserializeBinary(result.getResultbytes_asU8()).getKey()),
    hasMore: response.getHasMore(),
    id: response.getId(),
    bookmark: peer.QueryResponseMetadata.deserializeBinary(response.getMetadata_asU8()).getBookmark(),
  };
};
function next(id: string) {
  const request = new peer.QueryStateNext();
  request.setId(id);
  return [Type.QUERY_STATE_NEXT, request.serializeBinary()] as const;
}

describe('Simulation', () => {
  it('does not see its own writes', () => {
    const one = simulation();
    ask(one, put('a'));
    expect(ask(one, get('a'))).toHaveLength(0);
  });

  it('sends long results in messages of a hundred', () => {
    const one = simulation(250);
    const first = results(one, range('', ''));
    expect([first.keys.length, first.hasMore]).toEqual([100, true]);
    const second = results(one, next(first.id));
    expect([second.keys[0], second.hasMore]).toEqual(['k0100', true]);
    const third = results(one, next(first.id));
    expect([third.keys.length, third.keys.at(-1), third.hasMore]).toEqual([50, 'k0249', false]);
    expect(() => ask(one, next(first.id))).toThrow('query iterator not found');
  });

  it('returns a page with its bookmark', () => {
    const one = simulation(250);
    const first = results(one, range('k0000', '', { size: 150, bookmark: '' }));
    expect([first.keys.length, first.bookmark, first.hasMore]).toEqual([150, 'k0150', false]);
    const second = results(one, range('k0000', '', { size: 150, bookmark: first.bookmark }));
    expect([second.keys.length, second.bookmark]).toEqual([100, '']);
  });

  it('refuses paged queries together with writes', () => {
    const readFirst = simulation(1);
    ask(readFirst, range('', '', { size: 1, bookmark: '' }));
    expect(() => ask(readFirst, put('a'))).toThrow('Writes are not allowed');
    const writeFirst = simulation(1);
    ask(writeFirst, put('a'));
    expect(() => ask(writeFirst, range('', '', { size: 1, bookmark: '' }))).toThrow('read-only transaction');
  });

  it('refuses private data, rich queries and other messages', () => {
    expect(() => ask(simulation(), put('a', 'v', 'secrets'))).toThrow('collection secrets could not be found');
    expect(() => simulation().answer(Type.GET_QUERY_RESULT, new Uint8Array())).toThrow('not supported for leveldb');
    expect(() => simulation().answer(Type.INVOKE_CHAINCODE, new Uint8Array())).toThrow('does not support');
    expect(() => ask(simulation(), put(''))).toThrow('empty');
  });
});
