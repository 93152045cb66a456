import { describe, expect, it } from '@jest/globals';
import { findingRow, kindOfMachine, verdictOn } from './targets.ts';

describe('targets', () => {
  it.each([
    [0.8, 'met'],
    [0.75, 'met'],
    [0.7, 'met, below the aim'],
    [0.64, 'MISSED'],
    [undefined, 'withheld'],
    [Number.NaN, 'withheld'],
  ] as const)('judges %p where higher is better', (value, verdict) => {
    expect(verdictOn({ target: 'singlesOfPackages', value })).toBe(verdict);
  });

  it.each([
    [39.9, 0.4, 'MISSED'],
    [39.9, 0.52, 'met, below the aim'],
    [40, 0.4, 'met, below the aim'],
    [undefined, 0.37, 'MISSED'],
  ] as const)('judges a machine where Express costs %p us by the limits of its kind', (expressUs, value, verdict) => {
    expect(verdictOn({ target: 'singlesOfExpress', value, expressUs })).toBe(verdict);
  });

  it('tells the kind of the machine', () => {
    const finding = { target: 'memory', value: 1 } as const;
    expect(kindOfMachine([finding])).toEqual([]);
    expect(kindOfMachine([finding, { ...finding, expressUs: 29 }])).toEqual([
      'Bare Express took 29.0 us of a core for a request. Below 40 us a machine counts as fast; limits that differ are those of the fast kind.',
    ]);
    expect(kindOfMachine([{ ...finding, expressUs: 56 }])[0]).toContain('the slow kind');
  });

  it('judges where lower is better', () => {
    expect(verdictOn({ target: 'proof', value: 3 })).toBe('met');
    expect(verdictOn({ target: 'proof', value: 3.1 })).toBe('MISSED');
  });

  it('shows the target beside the measured value', () => {
    expect(findingRow({ target: 'batchRecords', value: 61_234.5, of: 'with Redis' })).toEqual([
      'durable records/s in batches of 100 (with Redis)',
      '>= 45,000 (aim 110,000)',
      '61,235',
      'met, below the aim',
    ]);
    expect(findingRow({ target: 'reopen', value: undefined })[2]).toBe('-');
  });
});
