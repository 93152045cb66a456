import { describe, expect, it } from '@jest/globals';
import { costTable, worstCosts, type Cost } from './size-cost.ts';

const cost = (what: string, [small, large]: [number, number], target?: Cost['target']): Cost => {
  return { what, unit: 'ms', small, large, target };
};

describe('costs at two sizes', () => {
  it('are judged by their ratio, or by themselves', () => {
    const { rows } = costTable(
      [
        cost('proof', [2, 2.5], 'sizeRatio'),
        cost('page', [2, 3], 'sizeRatio'),
        cost('heat map', [2, 90], 'sizeAnswer'),
        cost('search', [2, 101], 'sizeAnswer'),
        cost('signed', [90, 900]),
      ],
      'size L',
    );
    expect(rows).toEqual([
      ['proof', 'ms', '2.00', '2.50', '1.25', '<= 1.30', 'met'],
      ['page', 'ms', '2.00', '3.00', '1.50', '<= 1.30', 'MISSED'],
      ['heat map', 'ms', '2.00', '90.00', '45.00', '<= 100.0 ms', 'met'],
      ['search', 'ms', '2.00', '101', '50.50', '<= 100.0 ms', 'MISSED'],
      ['signed', 'ms', '90.00', '900', '10.00', '-', '-'],
    ]);
  });

  it('are told by the worst of each target, and how many more miss it', () => {
    const costs = [
      cost('a', [1, 1.4], 'sizeRatio'),
      cost('b', [1, 2], 'sizeRatio'),
      cost('c', [1, 1], 'sizeRatio'),
      cost('d', [1, 50], 'sizeAnswer'),
      cost('e', [1, 5]),
    ];
    expect(worstCosts(costs, 'gateway')).toEqual([
      { target: 'sizeRatio', value: 2, of: 'gateway: b, and 1 more' },
      { target: 'sizeAnswer', value: 50, of: 'gateway: d' },
    ]);
  });
});
