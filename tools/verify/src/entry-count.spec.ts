import { expect, it } from '@jest/globals';
import { entryCount } from './entry-count.ts';

it('counts entries as people do', () => {
  expect([0, 1, 2].map(entryCount)).toEqual(['0 entries', '1 entry', '2 entries']);
});
