import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { backgroundLoop, type BackgroundLoopOptions } from './index.ts';
import { forClient, lookingClient } from './looking.ts';

/** A loop whose pauses and runs are ended by the test. */
function loopOf(options: Partial<BackgroundLoopOptions> = {}) {
  const pauses: { ms: number; end: () => void }[] = [];
  const runs: { end: () => void; fail: (error: unknown) => void; stopping: AbortSignal }[] = [];
  const reported: unknown[] = [];
  const loop = backgroundLoop({
    pauseMs: 500,
    onFailure: (error) => reported.push(error),
    work: (stopping) => new Promise<void>((end, fail) => runs.push({ end, fail, stopping })),
    startTimer: (done, ms) => {
      const pause = { ms, end: done };
      pauses.push(pause);
      return () => void pauses.splice(pauses.indexOf(pause), 1);
    },
    ...options,
  });
  return {
    loop,
    runs,
    reported,
    pauses,
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
  it('works for everybody, also if a client started it that has left', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const work = () => Promise.resolve(signals.push(lookingClient()?.signal));
    const loop = forClient({ signal: AbortSignal.abort() }, () =>
      backgroundLoop({ work, pauseMs: 500, onFailure: () => undefined }),
    );
    while (signals.length === 0) await nextTurn();
    expect(signals).toEqual([undefined]);
    await loop.stop();
  });

  it('runs at once, then again a pause after each run has ended, never concurrently', async () => {
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

  it('delays the first run and takes the pause from a function', async () => {
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

  it('ends its pause when woken, or runs once more after the current run', async () => {
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

  it('reports each distinct failure once until a run succeeds', async () => {
    const { pass, end, reported } = loopOf();
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
    expect(reported.map((error) => `${(error as Error).message} ${String((error as Error).cause)}`)).toEqual([
      'away undefined',
      'late a',
      'late b',
    ]);
    await pass();
    await end();
    await pass();
    await end(away());
    expect(reported).toHaveLength(4);
  });

  it('treats a synchronous throw of work as a failure', async () => {
    const { pass, reported, pauses } = loopOf({
      work: () => {
        throw new Error('at once');
      },
    });
    await pass();
    expect([reported, pauses]).toMatchObject([[{ message: 'at once' }], [{ ms: 500 }]]);
  });

  it('waits for the current run when stopped, aborts its signal, and runs no more, woken or not', async () => {
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

  it('ends at once when stopped in a pause', async () => {
    const { loop, runs, pauses } = loopOf();
    await loop.stop();
    expect([runs, pauses]).toEqual([[], []]);
  });
});
