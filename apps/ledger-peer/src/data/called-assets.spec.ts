import { describe, expect, it } from '@jest/globals';
import { parseMappings } from '../domain/parse-mappings.ts';
import { assetsOfCall } from './called-assets.ts';

const basic = { channel: 'acme.main', chaincode: 'basic' };
const read = { read: ['{id}'] };
const mappings = parseMappings(
  JSON.stringify({
    mappings: [
      {
        type: 'car',
        ...basic,
        transactions: { write: 'CreateCar', read: 'Read' },
        arguments: { write: ['{id}', 'car', '{data.color}'], ...read },
        actions: { sell: { transaction: 'Sell', arguments: ['{data.to}', '{id}'] } },
      },
      {
        type: 'bike',
        ...basic,
        transactions: { write: 'CreateCar', read: 'Read' },
        arguments: { write: ['{id}', 'bike', '{data.color}'], ...read },
        actions: { sell: { transaction: 'Sell', arguments: ['{data.to}', '{id}'] } },
      },
      {
        type: 'parts.*',
        ...basic,
        contract: 'parts',
        transactions: { write: 'Put', read: 'Read' },
        arguments: { write: ['{type}', '{id}', '{"of":"{data.of}"}'], ...read },
      },
      {
        type: 'lists.*',
        ...basic,
        transactions: { write: 'PutAll', read: 'Read' },
        arguments: { write: ['{assets}'], ...read },
      },
      {
        type: 'loose.*',
        ...basic,
        transactions: { write: 'PutLoose', read: 'Read' },
        arguments: { write: ['{id}'], ...read },
      },
    ],
  }),
  { driver: 'fabric', defaultChannel: undefined },
);
const of = (...call: string[]) =>
  assetsOfCall(
    mappings,
    basic,
    call.map((text) => Buffer.from(text)),
  );

describe('the assets of a call of a third-party contract', () => {
  it('are those of the mapping whose transaction and constants it has', () => {
    expect(of('CreateCar', 'c1', 'car', 'red')).toEqual([{ id: 'c1', type: 'car' }]);
    expect(of('CreateCar', 'b1', 'bike', 'red')).toEqual([{ id: 'b1', type: 'bike' }]);
  });

  it('are not known if no mapping fits', () => {
    for (const call of [
      [],
      ['CreateCar'],
      ['CreateCar', 'c1', 'ship', 'red'],
      ['CreateCar', 'c1', 'car'],
      ['CreateCar', 'c1', 'car', 'red', 'more'],
      ['Elsewhere', 'c1'],
      ['Put', 'parts.x', 'p1', '{}'],
    ])
      expect(of(...call)).toBeUndefined();
  });

  it('are not known if several mappings fit that disagree about the type', () => {
    expect(of('Sell', 'Tom', 'c1')).toBeUndefined();
  });

  it('have the type that is an argument, if that mapping serves it', () => {
    expect(of('parts:Put', 'parts.wheel', 'p1', '{"of":"c1"}')).toEqual([{ id: 'p1', type: 'parts.wheel' }]);
    expect(of('parts:Put', 'car', 'p1', '{"of":"c1"}')).toBeUndefined();
  });

  it('are not known if the type can be any of a pattern', () => {
    expect(of('PutLoose', 'l1')).toBeUndefined();
  });

  it('are those of a list, unless somebody sent another one', () => {
    const list = [
      { id: '1', type: 'lists.a', data: {} },
      { id: '2', type: 'lists.b', data: {} },
    ];
    expect(of('PutAll', JSON.stringify(list))).toEqual(list.map(({ id, type }) => ({ id, type })));
    for (const other of ['', '{', '{}', 'null', '[null]', '[{"id":1,"type":"lists.a"}]', '[{"id":"1","type":"car"}]'])
      expect(of('PutAll', other)).toBeUndefined();
  });
});
