import { describe, expect, it } from '@jest/globals';
import { canonical, type JsonValue } from '@sealgate/json';
import { UnreadableAnswerError, type FoundPage, type NewAsset } from '../domain/asset-ledger.ts';
import type { ContractShape } from '../domain/mapping.ts';
import { changesIn, contractWords, historyArguments, MissingMemberError } from './contract-words.ts';

const TRANSACTIONS = { write: 'w', read: 'r', query: 'q' };

const wordsOf = (shape: Partial<Extract<ContractShape, { kind: 'positional' }>>) => {
  const positional: ContractShape = {
    kind: 'positional',
    write: [],
    read: ['{id}'],
    query: [],
    filters: [],
    actions: {},
    transient: [],
    collections: {},
    idMember: 'ID',
    absentWords: ['does not exist'],
    existsWords: ['already exists'],
    ...shape,
  };
  return contractWords({ shape: positional, transactions: TRANSACTIONS }, { prefix: 'never used' });
};
const ours = contractWords({ shape: { kind: 'records' }, transactions: TRANSACTIONS }, { prefix: 'acme.main/' });
const asset = (id: string, data: JsonValue): NewAsset => ({ id, type: 't', data, text: canonical(data) });
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
const asked = { type: 't', limit: 2, after: undefined };

describe('the arguments of a third-party contract', () => {
  it('are filled in: strings unchanged, everything else as JSON', () => {
    const write = [
      '{id}',
      '{type}',
      '{data}',
      '{data.text}',
      '{data.number}',
      '{data.deep}',
      '{data.a.b}',
      'plain',
      '{}',
    ];
    const data = { text: 'é"', number: 1.5, deep: { z: 1, a: [null] }, 'a.b': true };
    expect(wordsOf({ write }).writeCall([asset('1', data)]).args).toEqual([
      '1',
      't',
      '{"a.b":true,"deep":{"a":[null],"z":1},"number":1.5,"text":"é\\""}',
      'é"',
      '1.5',
      '{"a":[null],"z":1}',
      'true',
      'plain',
      '{}',
    ]);
  });

  it('are never filled in from inherited members', () => {
    const words = wordsOf({ write: ['{data.constructor}'] });
    expect(() => words.writeCall([asset('1', {})])).toThrow(MissingMemberError);
    const inherited = wordsOf({ query: ['{filter.constructor|"none"}'], filters: ['constructor'] });
    expect(inherited.queryArguments({ ...asked, filter: {} })).toEqual(['none']);
  });

  it.each<[string, JsonValue, string]>([
    ['{data.a|""}', {}, ''],
    ['{data.a|""}', { a: 'x' }, 'x'],
    ['{data.a|0}', {}, '0'],
    ['{data.a|{"b":[1,"|"]}}', {}, '{"b":[1,"|"]}'],
    ['{data.a|"x"}', { a: null }, 'null'],
    ['{data.toString|"x"}', {}, 'x'],
    ['{"docType":"{type}","of":["{id}","{data.n|7}"],"big":"x{id}"}', {}, '{"docType":"t","of":["1",7],"big":"x{id}"}'],
    ['[ 1 , "{}" ]', {}, '[ 1 , "{}" ]'],
    ['["{data.a}"]', { a: '","x' }, '["\\",\\"x"]'],
  ])('may have a default, or be JSON that is filled in: %s of %j', (argument, data, expected) => {
    expect(wordsOf({ write: [argument] }).writeCall([asset('1', data)]).args).toEqual([expected]);
  });

  it('of a query contain filters, escaped in a selector', () => {
    const query = [
      '{filter.owner}',
      '{filter.color|"any"}',
      '{"selector":{"owner":"{filter.owner}"},"limit":"{limit}"}',
    ];
    const words = wordsOf({ query, filters: ['owner', 'color'] });
    expect(words.queryArguments({ ...asked, filter: { owner: 'a","$or":[]' } })).toEqual([
      'a","$or":[]',
      'any',
      '{"selector":{"owner":"a\\",\\"$or\\":[]"},"limit":2}',
    ]);
  });

  it('hold many assets if an argument has {assets}', () => {
    const words = wordsOf({ write: ['{assets}'] });
    expect(words.takesMany).toBe(true);
    expect(JSON.parse(words.writeCall([asset('1', { x: 1 }), asset('2', {})]).args[0] ?? '')).toEqual([
      { id: '1', type: 't', data: { x: 1 } },
      { id: '2', type: 't', data: {} },
    ]);
  });

  it('of a query contain type, limit and bookmark', () => {
    const words = wordsOf({ query: ['{type}', '{limit}', '{bookmark}', 'x'] });
    expect(words.queryArguments({ type: 't', limit: 7, after: 'b' })).toEqual(['t', '7', 'b', 'x']);
    expect(words.queryArguments(asked)).toEqual(['t', '2', '', 'x']);
  });
});

describe('an action of a third-party contract', () => {
  const sell = { transaction: 'Sell', arguments: ['{id}', '{data.to}', '{data.price|0}'], returns: 'text' } as const;
  const words = wordsOf({ write: ['{assets}'], actions: { sell } });
  const asked = [{ ...asset('1', { to: 'Ann' }), action: 'sell' }];

  it('is its own transaction with its own arguments', () => {
    expect(words.writeCall(asked)).toEqual({ transaction: 'Sell', args: ['1', 'Ann', '0'] });
    expect(words.writeCall([asset('1', {})]).transaction).toBe('w');
    expect(() => words.writeCall([{ ...asset('1', {}), action: 'sell' }])).toThrow(MissingMemberError);
  });

  it('returns text if it is mapped so, and is refused in the words of the contract, whatever they say', () => {
    expect(words.returned(bytes('007'), asked)).toEqual({ json: '"007"', truncated: false });
    expect(words.returned(bytes('7'), [asset('1', {})])).toEqual({ json: '7', truncated: false });
    expect(words.refusal('the asset 1 already exists', asked)).toMatchObject({
      code: 'CONTRACT_REFUSED',
      contractMessage: 'the asset 1 already exists',
    });
  });
});

describe('transient members', () => {
  const words = wordsOf({ write: ['{id}', '{data}'] });
  const withPin = [{ ...asset('1', { a: 1 }), transient: { pin: '1234', deal: '{"buyer":"Ann","price":77}' } }];

  it('are sent beside the arguments', () => {
    expect(words.writeCall(withPin)).toEqual({
      ...{ transaction: 'w', args: ['1', '{"a":1}'] },
      transient: { pin: '1234', deal: '{"buyer":"Ann","price":77}' },
    });
  });

  it.each([
    ['the pin 1234 is wrong', 'the pin [private] is wrong'],
    ['12345: Ann pays 77 of {"buyer":"Ann","price":77}', '[private]5: [private] pays [private] of [private]'],
    ['already exists', 'already exists'],
  ])('are cut out of what the contract says: %s', (said, shown) => {
    expect(words.refusal(said, withPin)).toMatchObject({ message: shown, contractMessage: shown });
  });

  it('are not the id, which a contract may also get with them', () => {
    const marble = [{ ...asset('m15', {}), transient: { asset: '{"assetID":"m15","size":5}' } }];
    expect(words.refusal('m15 already exists, of size 5', marble)).toMatchObject({
      contractMessage: 'm15 already exists, of size [private]',
    });
    // A longer value that begins like the id is no id.
    const hidden = [{ ...asset('m1', {}), transient: { asset: '["m1","m1-pin"]' } }];
    expect(words.refusal('m1: not m1-pin', hidden)).toMatchObject({ contractMessage: 'm1: not [private]' });
  });

  it('leave the meaning of what it says', () => {
    const quoting = [{ ...asset('1', {}), transient: { word: 'exists' } }];
    expect(words.refusal('it already exists', quoting)).toMatchObject({
      ...{ code: 'RECORD_CONFLICT', contractMessage: 'it already [private]' },
    });
  });
});

describe('private collections', () => {
  it('are arguments of a read and a query', () => {
    const collections = { read: 'pins', query: 'all-pins' };
    const words = wordsOf({ read: ['{collection}', '{id}'], query: ['{"of":"{collection}"}'], collections });
    expect(words.readArguments('1')).toEqual(['pins', '1']);
    expect(words.queryArguments({ type: 't', limit: 2, after: undefined })).toEqual(['{"of":"all-pins"}']);
  });
});

describe('the results of a third-party contract', () => {
  it.each<[string, unknown, string | undefined]>([
    ['JSON', { ID: '1' }, '{"ID":"1"}'],
    ['text', 'plain', '"plain"'],
    ['nothing', '', undefined],
    ['null', 'null', undefined],
  ])('may be %s', (_, answer, expected) => {
    expect(wordsOf({}).asset(bytes(answer))?.text).toBe(expected);
  });

  it.each<[string, Buffer, string | undefined, boolean]>([
    ['nothing', Buffer.alloc(0), undefined, false],
    ['JSON, as it is', bytes('{"n":9007199254740993, "m":1.0}'), '{"n":9007199254740993, "m":1.0}', false],
    ['null', bytes('null'), 'null', false],
    ['text', bytes('Tom'), '"Tom"', false],
    ['64 KiB', bytes(`"${'x'.repeat(65_534)}"`), `"${'x'.repeat(65_534)}"`, false],
    ['more', bytes(`"${'x'.repeat(65_535)}"`), JSON.stringify(`"${'x'.repeat(65_535)}`), true],
    ['a character that would be cut', bytes(`x${'é'.repeat(32_768)}`), `"x${'é'.repeat(32_767)}"`, true],
  ])('of a transaction are passed on: %s', (_, answer, json, truncated) => {
    expect(wordsOf({}).returned(answer, [])).toEqual(json === undefined ? undefined : { json, truncated });
  });

  it('keep numbers that a double cannot represent', () => {
    const numbers = '{"ID":9007199254740993,"big":1e400,"small":[1.10,-0,0.12345678901234567890],"text":"1e400"}';
    expect(wordsOf({}).asset(bytes(numbers))?.text).toBe(numbers);
    const page = wordsOf({}).page(bytes(`[${numbers},{"ID":9007199254740992}]`), { ...asked, limit: 1 });
    expect(JSON.stringify(page)).toBe('{"assets":[{"ID":9007199254740992}],"next":"9007199254740992"}');
    const rest = wordsOf({}).page(bytes(`[${numbers}]`), { ...asked, after: page.next });
    expect(JSON.stringify(rest.assets)).toBe(`[${numbers}]`);
    const paged = wordsOf({ query: ['{bookmark}'] }).page(bytes(`{"records":[${numbers}],"bookmark":""}`), asked);
    expect(JSON.stringify(paged.assets)).toBe(`[${numbers}]`);
  });

  it('are reported as its own message, in one line of bounded length', () => {
    const { refusal, saysAbsent } = wordsOf({});
    expect(refusal('the asset 1 already exists', [])).toEqual({
      code: 'RECORD_CONFLICT',
      message: 'the asset 1 already exists',
      contractMessage: 'the asset 1 already exists',
    });
    const long = refusal(`no\n\u0000${'x'.repeat(1000)}`, []);
    expect(long.code).toBe('INVALID_REQUEST');
    expect(long.message).toMatch(/^no {2}x+\.\.\.$/);
    expect(long.message).toHaveLength(503);
    expect(long.contractMessage).toBe(`no${'x'.repeat(1000)}`);
    expect(refusal(`a\t\u0085${'é'.repeat(600)}`, []).contractMessage).toBe(`a${'é'.repeat(511)}`);
    expect(saysAbsent('the asset 1 does not exist')).toBe(true);
    expect(saysAbsent('access denied')).toBe(false);
  });

  it('are paged by the contract if it accepts a bookmark', () => {
    const words = wordsOf({ query: ['{bookmark}'] });
    const page = (value: unknown): FoundPage => words.page(bytes(value), asked);
    expect(page({ records: [{ ID: 'z' }, { ID: 'a' }], bookmark: 'more' })).toEqual({
      assets: [{ ID: 'z' }, { ID: 'a' }],
      next: 'more',
    });
  });

  it.each<[string, unknown]>([
    ['an empty list, whatever its bookmark', { records: [], bookmark: 'nil' }],
    ['an empty list', { records: [], bookmark: '' }],
    ['a list that is null', { records: null, bookmark: 'nil' }],
    ['a list that is absent', { bookmark: 'nil' }],
    ['an object without members', {}],
    ['null', 'null'],
    ['nothing', ''],
  ])('end with %s', (_, answer) => {
    const none = { assets: [], next: undefined };
    expect(wordsOf({ query: ['{bookmark}'] }).page(bytes(answer), asked)).toEqual(none);
    if (typeof answer === 'string') expect(wordsOf({}).page(bytes(answer), asked)).toEqual(none);
    else expect(ours.page(bytes(answer), asked)).toEqual(none);
  });

  it.each<[string, unknown]>([
    ['is absent', { Key: '1', Record: {} }],
    ['is null', { ID: null }],
    ['is an object', { ID: {} }],
    ['is inherited only', {}],
    ['cannot be there', 'text'],
  ])('are refused, naming the member, if the id of an asset %s', (_, item) => {
    const paged = wordsOf({ query: ['{bookmark}'] });
    expect(() => paged.page(bytes({ records: [{ ID: '1' }, item], bookmark: '' }), asked)).toThrow(
      /lacks the member ID/,
    );
    expect(() => wordsOf({}).page(bytes([{ ID: '1' }, item]), asked)).toThrow(/lacks the member ID/);
    expect(() => wordsOf({ idMember: 'constructor' }).page(bytes([item]), asked)).toThrow(UnreadableAnswerError);
  });

  it('are changes as they are, without any rule for their members', () => {
    expect(historyArguments({ transaction: 'h', arguments: ['{id}', 'all'] }, '7')).toEqual(['7', 'all']);
    expect(changesIn(bytes('[{"n":9007199254740993},null,"x"]'))).toBe('[{"n":9007199254740993},null,"x"]');
    expect(['', 'null', '[]'].map((text) => changesIn(bytes(text)))).toEqual(['[]', '[]', '[]']);
    for (const text of ['{}', 'text', '7', '[1'])
      expect(() => changesIn(bytes(text))).toThrow(/returned no list of changes/);
  });

  it('are otherwise sorted and paged here', () => {
    const page = (value: unknown, after?: string) => wordsOf({}).page(bytes(value), { ...asked, after });
    const all = [{ ID: 'c' }, { ID: 'a' }, { ID: 7 }];
    const first = page(all);
    expect(first.assets).toEqual([{ ID: 7 }, { ID: 'a' }]);
    expect(first.next).toBe('a');
    expect(page(all, 'a')).toEqual({ assets: [{ ID: 'c' }], next: undefined });
    expect(page({ ID: 'alone' })).toEqual({ assets: [{ ID: 'alone' }], next: undefined });
    expect(page('')).toEqual({ assets: [], next: undefined });
  });
});

describe('our own contract on a shared channel', () => {
  it('separates ids and types of each channel', () => {
    const [argument] = ours.writeCall([asset('1', { x: 1 })]).args;
    expect(JSON.parse(argument ?? '')).toEqual([
      { id: 'acme.main/1', type: 'acme.main/t', owner: null, data: '{"x":1}', extra: null },
    ]);
    expect(ours.readArguments('1')).toEqual(['acme.main/1']);
    expect(ours.queryArguments({ ...asked, after: '1' })).toEqual(['acme.main/t', '2', 'acme.main/1']);
    expect(ours.refusal('chaincode response 500, RECORD_CONFLICT:{"id":"acme.main/1"}', [])).toMatchObject({
      code: 'RECORD_CONFLICT',
      id: '1',
    });
    const page = { records: [{ id: 'acme.main/1', type: 'acme.main/t', data: {} }], bookmark: 'acme.main/1' };
    expect(ours.page(bytes(page), asked)).toEqual({ assets: [{ id: '1', type: 't', data: {} }], next: '1' });
    expect(() => ours.asset(bytes({ id: 'acme.other/1', type: 'x' }))).toThrow('another channel');
  });

  it.each(['not JSON', '[]', '7', '{"type":"acme.main/t"}'])('reports that it cannot read %s', (text) => {
    expect(() => ours.asset(bytes(text))).toThrow(UnreadableAnswerError);
    expect(() => ours.page(bytes(`{"records":[${text}],"bookmark":""}`), asked)).toThrow(UnreadableAnswerError);
  });

  it('reports rejections other than conflicts with its own message', () => {
    expect(ours.refusal('INVALID_REQUEST:{"detail":"too long"}', [])).toEqual({
      code: 'INVALID_REQUEST',
      message: 'INVALID_REQUEST:{"detail":"too long"}',
      contractMessage: 'INVALID_REQUEST:{"detail":"too long"}',
    });
    expect(ours.returned(bytes([{ id: 'acme.main/1', transactionId: 'x' }]), [])).toBeUndefined();
  });
});
