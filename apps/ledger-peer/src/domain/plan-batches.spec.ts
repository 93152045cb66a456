import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Mappings, type Target } from './mapping.ts';
import type { Asset } from './asset.ts';
import { planBatches } from './plan-batches.ts';

const target = (channel: string, chaincode = 'records'): Target => ({
  channel,
  network: 'acme',
  chaincode,
  contract: undefined,
  transactions: { write: 'createMany', read: 'read', query: 'queryByType' },
  shape: { kind: 'records' },
  write: 'create',
});
const main = target('acme.main');
const other = target('acme.other');
const mappings = new Mappings([
  { type: 'a', target: main },
  { type: 'b.*', target: other },
  { type: 'b.special.*', target: main },
]);
const asset = (id: string, type = 'a', data: Asset['data'] = {}): Asset => ({ id, type, data });
const limits = { batchSize: 100, maxBytes: 1_000_000 };

describe('mappings', () => {
  const any = target('acme.any');
  const all = new Mappings([
    { type: '*', target: any },
    { type: 'x*', target: other },
    { type: 'xy', target: main },
  ]);

  it.each([
    ['xy', main],
    ['xyz', other],
    ['x', other],
    ['z', any],
  ])('find the most specific one for %s, in any order', (type, expected) => {
    expect(all.find(type)).toBe(expected);
  });

  it('find none for an unmapped type', () => {
    expect(mappings.find('c')).toBeUndefined();
    expect(mappings.find('b')).toBeUndefined();
  });

  it('list their targets once, in the order of the file', () => {
    expect(mappings.targets).toEqual([main, other]);
  });
});

describe('a plan', () => {
  it('never writes an asset in place of an action that its mapping does not have', () => {
    const plan = planBatches([asset('1'), { ...asset('2'), action: 'sell' }], mappings, limits);
    expect(plan.unmapped).toEqual([1]);
    expect(plan.batches.map(({ indexes }) => indexes)).toEqual([[0]]);
  });

  it('puts the assets of a target together, in the order of the request', () => {
    const plan = planBatches([asset('1'), asset('2', 'b.x'), asset('3', 'b.special.x'), asset('4')], mappings, limits);
    expect(plan.batches.map(({ target: to, indexes }) => [to.channel, indexes])).toEqual([
      ['acme.main', [0, 2, 3]],
      ['acme.other', [1]],
    ]);
  });

  it('limits batches by count and bytes, and sends a large asset alone', () => {
    const many = Array.from({ length: 5 }, (_, at) => asset(String(at)));
    expect(planBatches(many, mappings, { ...limits, batchSize: 2 }).batches.map(({ indexes }) => indexes)).toEqual([
      [0, 1],
      [2, 3],
      [4],
    ]);
    const sized = [asset('1', 'a', { x: 'y'.repeat(900) }), asset('2', 'a', { x: 'y'.repeat(5000) }), asset('3')];
    expect(planBatches(sized, mappings, { ...limits, maxBytes: 1024 }).batches.map(({ indexes }) => indexes)).toEqual([
      [0],
      [1],
      [2],
    ]);
  });

  it('writes repeated content once, whatever the order of its members', () => {
    const plan = planBatches([asset('1', 'a', { x: 1, y: 2 }), asset('1', 'a', { y: 2, x: 1 })], mappings, limits);
    expect(plan.batches[0]?.indexes).toEqual([0]);
    expect([...plan.repeats]).toEqual([[1, 0]]);
  });

  it('rejects other content under an id of the request; the type is content', () => {
    const plan = planBatches([asset('1'), asset('1', 'b.special.x'), asset('1', 'a', { x: 1 })], mappings, limits);
    expect(plan.batches).toHaveLength(1);
    expect(plan.batches[0]).toMatchObject({ indexes: [0], refusedIndexes: [1, 2] });
  });

  it('treats one id in two channels as two assets', () => {
    const plan = planBatches([asset('1'), asset('1', 'b.x')], mappings, limits);
    expect(plan.batches.map(({ indexes }) => indexes)).toEqual([[0], [1]]);
  });

  it('reports unmapped assets', () => {
    expect(planBatches([asset('1', 'nope'), asset('2')], mappings, limits).unmapped).toEqual([0]);
  });

  it('places every asset, and no id twice in a batch', () => {
    const anAsset = fc.record({
      id: fc.constantFrom('1', '2', '3'),
      type: fc.constantFrom('a', 'b.x', 'b.special.x', 'nope'),
      data: fc.record({ x: fc.integer({ min: 0, max: 1 }) }),
    });
    fc.assert(
      fc.property(
        fc.array(anAsset, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        (assets, batchSize) => {
          const plan = planBatches(assets, mappings, { ...limits, batchSize });
          const places = [
            ...plan.unmapped,
            ...plan.repeats.keys(),
            ...plan.batches.flatMap(({ indexes, refusedIndexes }) => [...indexes, ...refusedIndexes]),
          ];
          expect(places.toSorted((one, two) => one - two)).toEqual(assets.map((_, at) => at));
          for (const { assets: its, indexes } of plan.batches) {
            expect(its.length).toBeLessThanOrEqual(batchSize);
            expect(new Set(its.map(({ id }) => id)).size).toBe(its.length);
            expect(indexes).toEqual(indexes.toSorted((one, two) => one - two));
          }
        },
      ),
    );
  });
});
