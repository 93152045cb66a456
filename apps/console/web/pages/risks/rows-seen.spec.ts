import { describe, expect, it } from '@jest/globals';
import { rowsSeen } from './rows-seen.ts';

const nothing = { unrestricted: false, departments: [], canReadSensitive: false };

describe('what numbers are of', () => {
  it('is not told to those who see all rows', () => {
    expect(rowsSeen({ ...nothing, unrestricted: true, canReadSensitive: true })).toBe('');
  });

  it.each([
    [{ ...nothing, unrestricted: true }, 'sensitive rows of others are not among them.'],
    [nothing, 'your own.'],
    [{ ...nothing, canReadSensitive: true }, 'your own.'],
    [
      { ...nothing, departments: ['sales', 'law'] },
      'your own, those of sales, those of law, without sensitive ones of others.',
    ],
    [{ ...nothing, departments: ['sales'], canReadSensitive: true }, 'your own, those of sales.'],
  ])('is told to others: %j', (scope, words) => {
    expect(rowsSeen(scope)).toBe(`Numbers are of the rows that you may see: ${words}`);
  });
});
