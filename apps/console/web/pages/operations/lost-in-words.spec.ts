import { expect, it } from '@jest/globals';
import { lostInWords } from './lost-in-words.ts';

it.each([
  [{ epoch: 0, lostFrom: 2, lostUntil: 3 }, 'Entry 2 of the first log'],
  [{ epoch: 0, lostFrom: 2, lostUntil: 4 }, 'Entries 2 to 3 of the first log'],
  [{ epoch: 1, lostFrom: 0, lostUntil: 9 }, 'Entries 0 to 8 of epoch 1'],
])('%j are %s', (lost, words) => {
  expect(lostInWords(lost)).toBe(words);
});
