import { expect, it } from '@jest/globals';
import { provedTogether } from './proved-together.ts';

it('rows that are proved together are proved by the last of them, of the answers of all', async () => {
  const seen: number[] = [];
  const next = provedTogether((answers) => Promise.resolve([`${seen.push(answers)} proved`]));
  const [one, two, three] = [next(), next(), next()];
  expect([await one(10), await two(20), seen.length]).toEqual([[], [], 0]);
  expect(await three(3)).toEqual(['1 proved']);
  expect(seen).toEqual([33]);
});
