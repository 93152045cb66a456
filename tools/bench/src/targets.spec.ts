import { describe, expect, it } from '@jest/globals';
import { findingRow, verdictOn } from './targets.ts';

describe('targets', () => {
  it.each([
    [0.6, 'met'],
    [0.4, 'met'],
    [0.35, 'met, below the aim'],
    [0.32, 'MISSED'],
    [undefined, 'withheld'],
    [Number.NaN, 'withheld'],
  ] as const)('judges %p where higher is better', (value, verdict) => {
    expect(verdictOn({ target: 'singlesOfExpress', value })).toBe(verdict);
  });

  it('judges where lower is better', () => {
    expect(verdictOn({ target: 'proof', value: 5 })).toBe('met');
    expect(verdictOn({ target: 'proof', value: 5.1 })).toBe('MISSED');
  });

  it('shows the target beside the measured value', () => {
    expect(findingRow({ target: 'batchRecords', value: 61_234.5, of: 'with Redis' })).toEqual([
      'durable records/s in batches of 100 (with Redis)',
      '>= 60,000 (aim 75,000)',
      '61,235',
      'met, below the aim',
    ]);
    expect(findingRow({ target: 'reopen', value: undefined })[2]).toBe('-');
  });
});
