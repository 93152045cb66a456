import { describe, expect, it } from '@jest/globals';
import { fabric, foreign, textOf } from '../testing/mapping-files.ts';
import { parseMappings } from './parse-mappings.ts';
import { planBatches } from './plan-batches.ts';
import { joinOrder, splitOrder } from './transient-members.ts';

const keep = { transaction: 'Keep', arguments: ['{data}'], transient: ['note'] };
const mapped = (transient: string[]) =>
  parseMappings(textOf({ ...foreign, transient, actions: { keep } }, { ...foreign, type: 'open' }), fabric);
const mappings = mapped(['pin', 'deal']);
const order = {
  assets: [
    { id: '1', type: 'vehicle', data: { color: 'red', pin: '1234', deal: { price: 1.5 } } },
    { id: '2', type: 'open', data: { pin: 'shown' } },
    { id: '3', type: 'vehicle', data: { color: 'blue' } },
    { id: '4', type: 'vehicle', data: { pin: 'shown', note: 'n' }, action: 'keep' },
  ],
  options: { batchSize: 2 },
};

describe('an order with transient members', () => {
  it('is stored without them, and complete again once they are opened', () => {
    const { body, transient } = splitOrder(order, mappings)!;
    expect(JSON.parse(body)).toEqual({
      assets: [
        { id: '1', type: 'vehicle', data: { color: 'red' } },
        { id: '2', type: 'open', data: { pin: 'shown' } },
        { id: '3', type: 'vehicle', data: { color: 'blue' } },
        { id: '4', type: 'vehicle', data: { pin: 'shown' }, action: 'keep' },
      ],
      options: { batchSize: 2 },
    });
    expect(JSON.parse(transient)).toEqual([{ pin: '1234', deal: { price: 1.5 } }, null, null, { note: 'n' }]);
    expect(joinOrder(body, transient, mappings)).toEqual(order);
  });

  it('is stored as it came if none of its assets has any', () => {
    expect(splitOrder({ assets: [order.assets[1]!, order.assets[2]!] }, mappings)).toBeUndefined();
    expect(joinOrder(JSON.stringify(order), undefined, mappings)).toEqual(order);
  });

  it('is never completed for a mapping that would show them', () => {
    const { body, transient } = splitOrder(order, mappings)!;
    expect(() => joinOrder(body, transient, mapped(['pin']))).toThrow('must stay so in the mapping');
  });

  it('is planned with them apart: in no data, and part of what makes content equal', () => {
    const [first] = order.assets;
    const again = { ...first!, data: { ...first!.data, pin: '4321' } };
    const plan = planBatches([first!, first!, again], mappings, { batchSize: 10, maxBytes: 1000 });
    expect(plan.batches.map(({ assets }) => assets)).toEqual([
      [
        {
          ...{ id: '1', type: 'vehicle', data: { color: 'red' }, text: '{"color":"red"}' },
          transient: { pin: '1234', deal: '{"price":1.5}' },
        },
      ],
    ]);
    expect([...plan.repeats]).toEqual([[1, 0]]);
    expect(plan.batches[0]?.refusedIndexes).toEqual([2]);
  });
});
