import { describe, expect, it } from '@jest/globals';
import { historyOf } from './rating-history.ts';

const COUNT = 220;
const all = (nowMs: number) =>
  Array.from({ length: COUNT }, (_none, index) => historyOf({ index, count: COUNT }, nowMs));
const scoreOf = ({ likelihood, impact }: { likelihood: number; impact: number }) => likelihood * impact;

describe.each([
  ['late in a quarter', new Date(2026, 10, 29, 12), new Date(2026, 9, 1)],
  ['an hour into a year', new Date(2027, 0, 1, 1), new Date(2027, 0, 1)],
])('the risks of the demo, %s', (_when, now, quarter) => {
  const histories = all(now.getTime());
  const begin = quarter.toISOString();
  const aYearBefore = new Date(quarter.getTime() - 366 * 86_400_000).toISOString();

  it('were made in their order, over years, some in the quarter', () => {
    const made = histories.map(({ madeAt }) => madeAt);
    expect(made).toEqual(made.toSorted());
    expect(made.filter((at) => at >= begin)).toHaveLength(22);
    expect(Date.parse(begin) - Date.parse(made[0]!)).toBe(901 * 86_400_000);
    expect(made.at(-1)! < now.toISOString()).toBe(true);
  });

  it('of which some rose and some fell in the quarter, and some before it', () => {
    const rated = histories.flatMap(({ madeAt, ratings }) => (ratings === undefined ? [] : [{ madeAt, ratings }]));
    for (const { madeAt, ratings } of rated) {
      const times = ratings.map(({ at }) => at);
      expect(times).toEqual([...new Set(times)].toSorted());
      expect([times[0] === madeAt, madeAt < aYearBefore, times.at(-1)! < now.toISOString()]).toEqual([
        true,
        true,
        true,
      ]);
    }
    const recent = rated.filter(({ ratings }) => ratings[1]!.at >= begin);
    const changes = recent.map(({ ratings }) => scoreOf(ratings.at(-1)!.rating) - scoreOf(ratings[0]!.rating));
    expect([changes.filter((by) => by > 0).length, changes.filter((by) => by < 0).length]).toEqual([7, 3]);
    expect(rated.length - recent.length).toBe(3);
  });
});
