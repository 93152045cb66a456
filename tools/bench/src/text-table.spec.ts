import { describe, expect, it } from '@jest/globals';
import { decimals, textTable, wholeNumber } from './text-table.ts';

describe('textTable', () => {
  it('aligns its columns, numbers to the right', () => {
    const columns = [{ name: 'server' }, { name: 'ms', right: true }];
    expect(textTable(columns, [['a', '1.00'], ['gateway']])).toBe(
      ['| server  |   ms |', '| ------- | ---: |', '| a       | 1.00 |', '| gateway |      |'].join('\n'),
    );
  });

  it('formats numbers, and a missing one as a dash', () => {
    expect([wholeNumber(1_234_567.8), wholeNumber(Number.NaN), decimals(0.125, 2), decimals(undefined, 2)]).toEqual([
      '1,234,568',
      '-',
      '0.13',
      '-',
    ]);
  });
});
