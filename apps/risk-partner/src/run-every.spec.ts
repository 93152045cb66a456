import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { runEvery } from './run-every.ts';

describe('what is done again and again', () => {
  it('is done at once, goes on while there is more, and is never done twice at a time', async () => {
    let [runs, now, most] = [0, 0, 0];
    const repeated = runEvery({
      pauseMs: 3_600_000,
      onError: () => undefined,
      work: async () => {
        most = Math.max(most, (now += 1));
        await new Promise((resolve) => setImmediate(resolve));
        now -= 1;
        return (runs += 1) < 5;
      },
    });
    await until(() => runs === 5, { what: 'five runs' });
    repeated.wake();
    repeated.wake();
    await until(() => runs === 6, { what: 'the run that was woken' });
    await repeated.stop();
    expect(most).toBe(1);
  });

  it('is done again when it was woken while it ran', async () => {
    let runs = 0;
    const repeated = runEvery({
      pauseMs: 3_600_000,
      onError: () => undefined,
      work: async () => {
        if ((runs += 1) === 1) repeated.wake();
        return false;
      },
    });
    await until(() => runs === 2, { what: 'the second run' });
    await repeated.stop();
  });

  it('goes on after a failure, which is told, and not after it was stopped', async () => {
    const told: unknown[] = [];
    let runs = 0;
    const repeated = runEvery({
      pauseMs: 1,
      onError: (error) => told.push(error),
      work: async () => {
        runs += 1;
        throw new Error('away');
      },
    });
    await until(() => told.length >= 2, { what: 'two failures' });
    await repeated.stop();
    const before = runs;
    await new Promise((resolve) => setImmediate(resolve));
    repeated.wake();
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toBe(before);
  });
});
