import { expect, it } from '@jest/globals';
import { entryCount } from './report.ts';

it('pluralises entries', () => {
  expect([0, 1, 2].map(entryCount)).toEqual(['0 entries', '1 entry', '2 entries']);
});
