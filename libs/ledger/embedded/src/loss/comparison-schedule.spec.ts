import { expect, it } from '@jest/globals';
import { ComparisonSchedule } from './comparison-schedule.ts';

const names = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);

/** The channels compared in each round, with a clock set by the test. */
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

it('compares all channels at once first, then a hundred per round after a minute', async () => {
  const { round, pass } = scheduled(250);
  expect(await round()).toBe(250);
  pass(59_999);
  expect(await round()).toBe(0);
  pass(1);
  expect([await round(), await round(), await round(), await round()]).toEqual([100, 100, 50, 0]);
  // A minute after the last of them.
  pass(60_000);
  expect(await round()).toBe(100);
});

it('restarts with all channels on request, between rounds or during a comparison', async () => {
  const { schedule, round, pass } = scheduled(250);
  await round();
  pass(60_000);
  await round();
  schedule.restart();
  expect([await round(), await round()]).toEqual([250, 0]);
  pass(60_000);
  expect(await round(() => schedule.restart())).toBe(100);
  expect(await round(() => schedule.restart())).toBe(250);
  expect([await round(), await round()]).toEqual([250, 0]);
});

it('restarts a second after a failure, with all channels if all of them failed', async () => {
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
