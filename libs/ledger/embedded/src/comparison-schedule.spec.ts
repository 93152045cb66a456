import { expect, it } from '@jest/globals';
import { ComparisonSchedule } from './comparison-schedule.ts';

const names = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);

/** What each round compares, at a time that the test moves. */
function scheduled(count: number) {
  let nowMs = 1_000_000;
  const schedule = new ComparisonSchedule({ compareEveryMs: 60_000, now: () => nowMs });
  const round = async (during: () => void = () => undefined): Promise<number> => {
    let compared = 0;
    await schedule.run(
      async () => names(count),
      async (channels) => {
        compared = channels.length;
        during();
      },
    );
    return compared;
  };
  return { schedule, round, pass: (ms: number) => void (nowMs += ms) };
}
const fails = () => {
  throw new Error('unreadable');
};

it('compares all at once first, then a hundred a round once a minute has passed', async () => {
  const { round, pass } = scheduled(250);
  expect(await round()).toBe(250);
  pass(59_999);
  expect(await round()).toBe(0);
  pass(1);
  expect([await round(), await round(), await round(), await round()]).toEqual([100, 100, 50, 0]);
  // A minute from the last of them.
  pass(60_000);
  expect(await round()).toBe(100);
});

it('begins anew, with all, where that is asked for: between two rounds, or while some are compared', async () => {
  const { schedule, round, pass } = scheduled(250);
  await round();
  pass(60_000);
  await round();
  schedule.anew();
  expect([await round(), await round()]).toEqual([250, 0]);
  pass(60_000);
  expect(await round(() => schedule.anew())).toBe(100);
  expect(await round(() => schedule.anew())).toBe(250);
  expect([await round(), await round()]).toEqual([250, 0]);
});

it('begins anew a second after a failure, and with all where it was all that failed', async () => {
  const { schedule, round, pass } = scheduled(250);
  await expect(round(fails)).rejects.toThrow('unreadable');
  schedule.postpone();
  pass(999);
  expect(await round()).toBe(0);
  pass(1);
  expect(await round()).toBe(250);
  pass(60_000);
  expect(await round()).toBe(100);
  await expect(round(fails)).rejects.toThrow('unreadable');
  schedule.postpone();
  pass(1000);
  expect([await round(), await round(), await round(), await round()]).toEqual([100, 100, 50, 0]);
});
