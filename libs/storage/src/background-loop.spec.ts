import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { backgroundLoop, type BackgroundLoopOptions } from './index.ts';

/** A loop whose pauses end when the test says so, and whose runs end as the test says. */
function loopOf(options: Partial<BackgroundLoopOptions> = {}) {
  const pauses: { ms: number; end: () => void }[] = [];
  const runs: { end: () => void; fail: (error: unknown) => void; stopping: AbortSignal }[] = [];
  const told: unknown[] = [];
  const loop = backgroundLoop({
    pauseMs: 500,
    onFailure: (error) => told.push(error),
    work: (stopping) => new Promise<void>((end, fail) => runs.push({ end, fail, stopping })),
    startTimer: (done, ms) => {
      const pause = { ms, end: done };
      pauses.push(pause);
      return () => void pauses.splice(pauses.indexOf(pause), 1);
    },
    ...options,
  });
  return {
    ...{ loop, runs, told, pauses },
    pass: async () => {
      pauses.shift()!.end();
      await nextTurn();
    },
    end: async (error?: Error) => {
      if (error === undefined) runs.at(-1)!.end();
      else runs.at(-1)!.fail(error);
      await nextTurn();
    },
  };
}

describe('a background loop', () => {
  it('runs at once, and again a pause after each run has ended, never two at a time', async () => {
    const { runs, pauses, pass, end, loop } = loopOf();
    expect([runs.length, pauses.map(({ ms }) => ms)]).toEqual([0, [0]]);
    await pass();
    expect([runs.length, pauses]).toEqual([1, []]);
    await end();
    expect([runs.length, pauses.map(({ ms }) => ms)]).toEqual([1, [500]]);
    await pass();
    expect(runs).toHaveLength(2);
    await end();
    await loop.stop();
    expect(pauses).toEqual([]);
  });

  it('begins later, and pauses for as long as a function says, where it is told so', async () => {
    let ms = 7;
    const { pauses, pass, end } = loopOf({ firstAfterMs: 60_000, pauseMs: () => (ms *= 2) });
    expect(pauses).toMatchObject([{ ms: 60_000 }]);
    await pass();
    await end();
    expect(pauses).toMatchObject([{ ms: 14 }]);
    await pass();
    await end();
    expect(pauses).toMatchObject([{ ms: 28 }]);
  });

  it('that is woken ends its pause, or runs once more after the run under way', async () => {
    const { runs, pauses, pass, end, loop } = loopOf();
    await pass();
    loop.wake();
    loop.wake();
    expect([runs.length, pauses.length]).toEqual([1, 0]);
    await end();
    expect(pauses).toMatchObject([{ ms: 0 }]);
    await pass();
    await end();
    expect(pauses).toMatchObject([{ ms: 500 }]);
    loop.wake();
    expect(pauses).toMatchObject([{ ms: 0 }]);
    await pass();
    expect(runs).toHaveLength(3);
  });

  it('tells a failure once until a run succeeds, and one that says something else as well', async () => {
    const { pass, end, told } = loopOf();
    const away = () => new Error('away');
    for (const error of [
      away(),
      away(),
      new Error('late', { cause: 'a' }),
      away(),
      new Error('late', { cause: 'b' }),
    ]) {
      await pass();
      await end(error);
    }
    expect(told.map((error) => `${(error as Error).message} ${String((error as Error).cause)}`)).toEqual([
      'away undefined',
      'late a',
      'late b',
    ]);
    await pass();
    await end();
    await pass();
    await end(away());
    expect(told).toHaveLength(4);
  });

  it('takes what work throws before its first await for a failure as well', async () => {
    const { pass, told, pauses } = loopOf({
      work: () => {
        throw new Error('at once');
      },
    });
    await pass();
    expect([told, pauses]).toMatchObject([[{ message: 'at once' }], [{ ms: 500 }]]);
  });

  it('that is stopped waits for the run under way, tells it, and runs no more, woken or not', async () => {
    const { loop, pass, runs, pauses, end } = loopOf();
    await pass();
    let isStopped = false;
    const stopped = loop.stop().then(() => (isStopped = true));
    await nextTurn();
    expect([isStopped, runs[0]!.stopping.aborted]).toEqual([false, true]);
    loop.wake();
    await end();
    await stopped;
    loop.wake();
    expect([runs.length, pauses]).toEqual([1, []]);
  });

  it('that is stopped in a pause ends at once', async () => {
    const { loop, runs, pauses } = loopOf();
    await loop.stop();
    expect([runs, pauses]).toEqual([[], []]);
  });
});
