import { describe, expect, it } from '@jest/globals';
import { fabric, faultsOf, foreign, ours, textOf } from '../testing/mapping-files.ts';
import { actionOf, endorsersOf, historyOf, transientOf } from './mapping.ts';
import { parseMappings } from './parse-mappings.ts';

describe('a mapping of a third-party contract', () => {
  it('may map no query, give defaults, and name filters', () => {
    const { query: _t, ...transactions } = foreign.transactions;
    const { query: _a, ...args } = foreign.arguments;
    const without = parseMappings(textOf({ ...foreign, transactions, arguments: args }), fabric).find('vehicle');
    expect(without?.transactions).toEqual({ write: 'CreateAsset', read: 'ReadAsset', query: undefined });
    expect(without?.shape).toMatchObject({ query: undefined, filters: [] });
    const query = ['{filter.owner}', '{"selector":{"color":"{filter.color|\\"\\"}"}}'];
    const filtered = { ...foreign, filters: ['owner', 'color'], arguments: { ...foreign.arguments, query } };
    expect(parseMappings(textOf(filtered), fabric).find('vehicle')?.shape).toMatchObject({
      query,
      filters: ['owner', 'color'],
    });
  });

  it('may have actions, found by type or by name', () => {
    const actions = {
      'hand-over': { transaction: 'TransferAsset', arguments: ['{id}', '{data.to|"nobody"}'] },
      count: { transaction: 'CountAsset', arguments: ['{id}'], returns: 'text' },
    };
    const mappings = parseMappings(textOf({ ...foreign, actions }, { ...ours, type: 'b*' }), fabric);
    const target = mappings.find('vehicle')!;
    expect(actionOf(target, 'hand-over')).toEqual({ ...actions['hand-over'], returns: 'json' });
    expect(actionOf(target, 'count')).toEqual(actions.count);
    expect(actionOf(target, 'toString')).toBeUndefined();
    expect(actionOf(mappings.find('b1')!, 'count')).toBeUndefined();
    expect(mappings.typesWith('count')).toEqual(['vehicle']);
    expect(mappings.typesWith('sell')).toEqual([]);
  });

  it('may have a history', () => {
    const history = { transaction: 'GetAssetHistory', arguments: ['{id}'] };
    const mappings = parseMappings(textOf({ ...foreign, history }, { ...ours, type: 'b*' }), fabric);
    expect(historyOf(mappings.find('vehicle')!)).toEqual(history);
    expect(historyOf(mappings.find('b1')!)).toBeUndefined();
  });

  it('may have transient members and private collections', () => {
    const private_ = {
      transient: ['pin'],
      collections: { read: 'pins', query: '_implicit_org_Org1MSP' },
      arguments: { write: ['{id}', '{data}'], read: ['{collection}', '{id}'], query: [] },
      actions: {
        show: { transaction: 'Show', arguments: ['{data.pin}'], transient: [] },
        hide: { transaction: 'Hide', arguments: ['{data.note}'] },
      },
    };
    const target = parseMappings(textOf({ ...foreign, ...private_ }), fabric).find('vehicle')!;
    expect(target.shape).toMatchObject({ transient: ['pin'], collections: private_.collections });
    expect([undefined, 'show', 'hide'].map((action) => transientOf(target, action))).toEqual([['pin'], [], ['pin']]);
    expect(transientOf(undefined, undefined)).toEqual([]);
  });

  it('may name endorsers of its own for an action', () => {
    const actions = {
      sell: { transaction: 'Sell', arguments: ['{id}'], endorsers: ['Org1MSP', 'Org2MSP'] },
      move: { transaction: 'Move', arguments: ['{id}'] },
    };
    const target = parseMappings(textOf({ ...foreign, actions, endorsers: ['Org1MSP'] }), fabric).find('vehicle')!;
    expect(endorsersOf(target, undefined)).toEqual(['Org1MSP']);
    expect(endorsersOf(target, 'move')).toEqual(['Org1MSP']);
    expect(endorsersOf(target, 'sell')).toEqual(['Org1MSP', 'Org2MSP']);
    const others = parseMappings(textOf({ ...foreign, actions }), fabric).find('vehicle')!;
    expect(endorsersOf(others, 'move')).toBeUndefined();
  });

  it.each<[string, string, string]>([
    [
      'an action that nobody endorses',
      textOf({ ...foreign, actions: { sell: { transaction: 'S', arguments: [], endorsers: [] } } }),
      'mappings/0/actions/sell/endorsers: must be a list of 1 to 20 MSP ids, each once',
    ],
    [
      'a transient member that is an argument',
      textOf({ ...foreign, transient: ['color'] }),
      'mappings/0/transient: color is transient, and cannot be an argument',
    ],
    [
      'a transient member that is an argument of an action',
      textOf({
        ...foreign,
        transient: ['pin'],
        actions: { sell: { transaction: 'S', arguments: ['["{data.pin}"]'] } },
      }),
      'mappings/0/actions/sell: pin is transient, and cannot be an argument',
    ],
    [
      "an action's own transient member that is its argument",
      textOf({ ...foreign, actions: { sell: { transaction: 'S', arguments: ['{data.a|1}'], transient: ['a'] } } }),
      'mappings/0/actions/sell/transient: a is transient, and cannot be an argument',
    ],
    [
      'transient members of many assets',
      textOf({ ...foreign, transient: ['pin'], arguments: { ...foreign.arguments, write: ['{assets}'] } }),
      'mappings/0/transient: {assets} is many assets',
    ],
    [
      'transient members without a name',
      textOf({ ...foreign, transient: [''] }),
      'mappings/0/transient: must be a list of at most 20 members',
    ],
    [
      'transient members of our own contract',
      textOf({ ...ours, transient: ['pin'] }),
      'mappings/0/transient: only goes with arguments',
    ],
    [
      'a collection that no argument uses',
      textOf({ ...foreign, collections: { read: 'pins' } }),
      'mappings/0/collections/read: is in no argument, and is no implicit collection',
    ],
    [
      'a collection without a name',
      textOf({ ...foreign, arguments: { ...foreign.arguments, read: ['{collection}', '{id}'] } }),
      'mappings/0/collections/read: must name the collection that the arguments use',
    ],
    [
      'a collection of writes',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['{collection}'] } }),
      'mappings/0/arguments/write/0: {collection} cannot be filled in here',
    ],
    [
      'collections that are none',
      textOf({ ...foreign, collections: 'pins' }),
      'mappings/0/collections: must be an object',
    ],
    [
      'a default that is not JSON',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['{data.a|none}'] } }),
      'mappings/0/arguments/write/0: {data.a|none} cannot be filled in here',
    ],
    [
      'a default of an id',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['{id|""}'] } }),
      'mappings/0/arguments/write/0: {id|""} cannot be filled in here',
    ],
    [
      'a filter of a write',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['["{filter.owner}"]'] } }),
      'mappings/0/arguments/write/0: ["{filter.owner}"] cannot be filled in here',
    ],
    [
      'a filter that it does not name',
      textOf({ ...foreign, arguments: { ...foreign.arguments, query: ['{filter.owner}'] } }),
      'mappings/0/filters: must name owner, which the arguments of query use',
    ],
    [
      'a filter that no argument uses',
      textOf({ ...foreign, filters: ['owner'] }),
      'mappings/0/filters: owner is in no argument of query',
    ],
    [
      'a filter without a name',
      textOf({ ...foreign, filters: [''] }),
      'mappings/0/filters: must be a list of at most 20 names',
    ],
    [
      'filters of our own contract',
      textOf({ ...ours, filters: ['owner'] }),
      'mappings/0/filters: only goes with arguments',
    ],
    [
      'a query in the arguments alone',
      textOf({ ...foreign, transactions: { write: 'w', read: 'r' } }),
      'mappings/0: query must be in transactions and in arguments, or in neither',
    ],
    [
      'no actions in actions',
      textOf({ ...foreign, actions: {} }),
      'mappings/0/actions: must be an object with 1 to 50 actions',
    ],
    [
      'an action with another name',
      textOf({ ...foreign, actions: { Sell: { transaction: 'Sell', arguments: [] } } }),
      'mappings/0/actions/Sell: an action is named by at most 40 of a-z',
    ],
    [
      'an action of many assets',
      textOf({ ...foreign, actions: { sell: { transaction: 'Sell', arguments: ['{assets}'] } } }),
      'mappings/0/actions/sell/arguments/0: {assets} cannot be filled in here',
    ],
    [
      'an action that returns something else',
      textOf({ ...foreign, actions: { sell: { transaction: 'Sell', arguments: [], returns: 'xml' } } }),
      'mappings/0/actions/sell/returns: must be json or text',
    ],
    [
      'an action without a transaction',
      textOf({ ...foreign, actions: { sell: { arguments: [] } } }),
      'mappings/0/actions/sell/transaction: must be a name',
    ],
    [
      'an action with a member nobody knows',
      textOf({ ...foreign, actions: { sell: { transaction: 'Sell', arguments: [], retry: true } } }),
      'mappings/0/actions/sell/retry: is not a known member',
    ],
    [
      'a history that is none',
      textOf({ ...foreign, history: 'GetAssetHistory' }),
      'mappings/0/history: must be an object with transaction and arguments',
    ],
    [
      'a history of no asset',
      textOf({ ...foreign, history: { transaction: 'GetAssetHistory', arguments: [] } }),
      'mappings/0/history/arguments: must hold {id}',
    ],
    [
      'a history of data',
      textOf({ ...foreign, history: { transaction: 'GetAssetHistory', arguments: ['{id}', '{data.a}'] } }),
      'mappings/0/history/arguments/1: {data.a} cannot be filled in here',
    ],
    [
      'a history without a transaction',
      textOf({ ...foreign, history: { arguments: ['{id}'] } }),
      'mappings/0/history/transaction: must be a name',
    ],
    [
      'a history with a member nobody knows',
      textOf({ ...foreign, history: { transaction: 'H', arguments: ['{id}'], limit: 1 } }),
      'mappings/0/history/limit: is not a known member',
    ],
    [
      'a history of our own contract',
      textOf({ ...ours, history: { transaction: 'history', arguments: ['{id}'] } }),
      'mappings/0/history: only goes with arguments',
    ],
    [
      'actions of our own contract',
      textOf({ ...ours, actions: { sell: { transaction: 'Sell', arguments: [] } } }),
      'mappings/0/actions: only goes with arguments',
    ],
  ])('is rejected for %s', (_, text, fault) => {
    expect(faultsOf(text, fabric)).toEqual([expect.stringContaining(fault)]);
  });
});
