import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { embedded, fabric, faultsOf, foreign, ours, textOf } from '../testing/mapping-files.ts';
import { parseMappings, type MappingRules } from './parse-mappings.ts';

describe('a mapping file', () => {
  it('needs few members for our own contract', () => {
    expect(parseMappings(textOf(ours), embedded).find('asset')).toEqual({
      channel: 'acme.main',
      network: 'acme',
      chaincode: 'records',
      contract: undefined,
      write: 'create',
      transactions: { write: 'createMany', read: 'read', query: 'queryByType' },
      shape: { kind: 'records' },
    });
    const upsert = parseMappings(textOf({ ...ours, write: 'upsert', contract: 'records' }), fabric).find('asset');
    expect(upsert).toMatchObject({ write: 'upsert', contract: 'records', transactions: { write: 'upsertMany' } });
  });

  it('describes calls and messages of a third-party contract', () => {
    expect(parseMappings(textOf(foreign), fabric).find('vehicle')?.shape).toEqual({
      kind: 'positional',
      write: ['{id}', '{data.color}'],
      read: ['{id}'],
      query: [],
      filters: [],
      actions: {},
      transient: [],
      collections: {},
      idMember: 'id',
      absentWords: ['does not exist'],
      existsWords: ['already exists'],
    });
    const said = { ...foreign, idMember: 'ID', words: { absent: ['unbekannt'], exists: ['vergeben'] } };
    expect(parseMappings(textOf(said), fabric).find('vehicle')?.shape).toMatchObject({
      idMember: 'ID',
      absentWords: ['unbekannt'],
      existsWords: ['vergeben'],
    });
  });

  it('may name the organisations that endorse', () => {
    const endorsers = ['Org1MSP', 'org-2.example_MSP'];
    expect(parseMappings(textOf({ ...ours, endorsers }), fabric).find('asset')?.endorsers).toEqual(endorsers);
  });

  it('shares a target between equal mappings', () => {
    const mappings = parseMappings(
      textOf(ours, { ...ours, type: 'demo.*' }, { ...ours, type: 'x', channel: 'acme.x' }),
      embedded,
    );
    expect(mappings.targets).toHaveLength(2);
    expect(mappings.find('demo.1')).toBe(mappings.find('asset'));
  });

  it('of the demo has the expected mappings', () => {
    const text = readFileSync(join(import.meta.dirname, '../../demo/mapping.json'), 'utf8');
    const mappings = parseMappings(text, embedded);
    for (const type of ['asset', 'demo.', 'demo.x']) expect(mappings.find(type)?.channel).toBe('demo.main');
    for (const type of ['assets', 'demo', 'Demo.x', '']) expect(mappings.find(type)).toBeUndefined();
  });

  it.each<[string, string, MappingRules, string]>([
    ['no JSON', '{', embedded, 'it is not JSON'],
    ['no list', '{"mappings": {}}', embedded, 'it is no object with a list called mappings'],
    ['nothing', '{"mappings": []}', embedded, 'mappings: must hold 1 to 1000 mappings'],
    [
      'a member nobody knows',
      JSON.stringify({ mappings: [ours], version: 2 }),
      embedded,
      'version: is not a known member',
    ],
    ['no object', textOf(7), embedded, 'mappings/0: must be an object'],
    ['an unknown member', textOf({ ...ours, chanel: 1 }), embedded, 'mappings/0/chanel: is not a known member'],
    ['no type', textOf({ ...ours, type: '' }), embedded, 'mappings/0/type: must be a type'],
    ['a star in the middle', textOf({ ...ours, type: 'a*b' }), embedded, 'mappings/0/type: must be a type'],
    ['a long type', textOf({ ...ours, type: 'x'.repeat(129) }), embedded, 'mappings/0/type: must be a type'],
    ['no channel', textOf({ ...ours, channel: undefined }), embedded, 'mappings/0/channel: must be <networkId>.<name>'],
    ['no chaincode', textOf({ ...ours, chaincode: undefined }), embedded, 'mappings/0/chaincode: must be a name'],
    [
      'another way to write',
      textOf({ ...ours, write: 'replace' }),
      fabric,
      'mappings/0/write: must be create or upsert',
    ],
    [
      'upsert without Fabric',
      textOf({ ...ours, write: 'upsert' }),
      embedded,
      'mappings/0/write: upsert needs LEDGER_DRIVER=fabric',
    ],
    ['a type twice', textOf(ours, ours), embedded, 'mappings: "asset" is mapped twice'],
    [
      'two chaincodes in one channel',
      textOf(ours, { ...ours, type: 'b', chaincode: 'other' }),
      embedded,
      'mappings: acme.main has several chaincodes',
    ],
    ['arguments without Fabric', textOf(foreign), embedded, 'mappings: the arguments of "vehicle" are for a contract'],
    [
      'arguments without transactions',
      textOf({ ...foreign, transactions: undefined }),
      fabric,
      'mappings/0/transactions: must name',
    ],
    ['words without arguments', textOf({ ...ours, words: {} }), fabric, 'mappings/0/words: only goes with arguments'],
    [
      'a transaction that is none',
      textOf({ ...foreign, transactions: { write: '', read: 'r', query: 'q' } }),
      fabric,
      'mappings/0/transactions/write: must be a name',
    ],
    [
      'a placeholder nobody fills',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['{owner}'] } }),
      fabric,
      'mappings/0/arguments/write/0: {owner} cannot be filled in here',
    ],
    ...[[], ['Org1MSP', 'Org1MSP'], ['Org1 MSP'], 'Org1MSP', Array.from({ length: 21 }, (_, n) => `Org${n}`)].map(
      (endorsers): [string, string, MappingRules, string] => [
        `endorsers ${JSON.stringify(endorsers)}`,
        textOf({ ...ours, endorsers }),
        fabric,
        'mappings/0/endorsers: must be a list of 1 to 20 MSP ids, each once',
      ],
    ),
    [
      'endorsers without Fabric',
      textOf({ ...ours, endorsers: ['Org1MSP'] }),
      embedded,
      'mappings/0/endorsers: needs LEDGER_DRIVER=fabric',
    ],
    [
      'a page of a read',
      textOf({ ...foreign, arguments: { ...foreign.arguments, read: ['{id}', '{limit}'] } }),
      fabric,
      'mappings/0/arguments/read/1: {limit} cannot be filled in here',
    ],
    [
      'a read without id',
      textOf({ ...foreign, arguments: { ...foreign.arguments, read: [] } }),
      fabric,
      'mappings/0/arguments/read: must hold {id}',
    ],
    [
      'many assets beside one',
      textOf({ ...foreign, arguments: { ...foreign.arguments, write: ['{assets}', '{id}'] } }),
      fabric,
      'mappings/0/arguments/write: {assets} is many assets',
    ],
    [
      'no words',
      textOf({ ...foreign, words: { absent: [] } }),
      fabric,
      "mappings/0/words/absent: must be a list of the contract's own words",
    ],
    [
      'no name of a member',
      textOf({ ...foreign, idMember: 7 }),
      fabric,
      'mappings/0/idMember: must be the name of a member',
    ],
  ])('is rejected for %s', (_, text, rules, fault) => {
    expect(faultsOf(text, rules)).toEqual([expect.stringContaining(fault)]);
  });

  it('reports all faults at once', () => {
    expect(faultsOf(textOf({ ...ours, type: '*a' }, { ...ours, chaincode: '-' }, 'x'), embedded)).toHaveLength(3);
  });
});

describe('the mappings of a channel', () => {
  it.each([
    [[{ ...ours, type: '*' }], true],
    [[{ ...ours, type: '*' }, ours, { ...ours, type: 'demo.*' }], true],
    [[ours, { ...ours, type: 'demo.*' }], false],
    [
      [
        { ...ours, type: '*' },
        { ...ours, channel: 'acme.other' },
      ],
      false,
    ],
    [[{ ...ours, type: '*', channel: 'acme.other' }], false],
  ])('serve all of it only if no type is excluded: %j', (mappings, isAll) => {
    expect(parseMappings(textOf(...mappings), embedded).servesAll('acme.main')).toBe(isAll);
  });
});
