import { describe, expect, it } from '@jest/globals';
import { mainThreadTimes, timesBetween } from './hostile-bodies.ts';

const hasScheduler = mainThreadTimes(process.pid) !== undefined;

describe('the CPU time of a main thread', () => {
  (hasScheduler ? it : it.skip)('grows by about as much as it ran', () => {
    const before = mainThreadTimes(process.pid);
    const startedAt = process.cpuUsage();
    while (process.cpuUsage(startedAt).user < 50_000);
    const { ranMs, waitedMs } = timesBetween(before, mainThreadTimes(process.pid));
    expect(ranMs).toBeGreaterThan(25);
    expect(ranMs).toBeLessThan(1_000);
    expect(waitedMs).toBeGreaterThanOrEqual(0);
  });

  it('is NaN where the system does not report it', () => {
    expect(mainThreadTimes(0)).toBeUndefined();
    expect(timesBetween(undefined, { ranMs: 1, waitedMs: 1 })).toEqual({ ranMs: Number.NaN, waitedMs: Number.NaN });
  });
});
