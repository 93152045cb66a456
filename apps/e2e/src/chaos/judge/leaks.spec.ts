import { describe, expect, it } from '@jest/globals';
import type { Held } from '../history.ts';
import { leaks } from './leaks.ts';
import { verdictOf } from './testing/lines.ts';

const quiet: Held = {
  ...{ is: 'held', process: 'case-gate/0', pid: 1, atMs: 0 },
  ...{ residentKib: 200_000, descriptors: 60, postgresConnections: 10, redisKeys: 30 },
};

const broken = async (...lines: Held[]) => (await verdictOf(leaks(), lines)).broken;

describe('no leaks', () => {
  it('is kept by a process that stays as it is', async () => {
    const later = { ...quiet, residentKib: 250_000, descriptors: 70, postgresConnections: 12 };
    expect(await verdictOf(leaks(), [quiet, later])).toMatchObject({ judged: 1, broken: [] });
  });

  it.each([
    ['residentKib', 400_000],
    ['descriptors', 120],
    ['postgresConnections', 30],
  ] as const)('is broken by %s that grow', async (what, much) => {
    expect(await broken(quiet, { ...quiet, [what]: much })).toEqual([
      `lines 1 and 2: ${what} of case-gate/0 1 grew from ${quiet[what]} to ${much}`,
    ]);
  });

  it('lets a process that has just begun become warm', async () => {
    const young = { ...quiet, residentKib: 140_000 };
    expect(await broken(young, { ...young, residentKib: 312_000 })).toEqual([]);
    expect(await broken(young, { ...young, residentKib: 370_000 })).toHaveLength(1);
  });

  it('does not compare one life with another', async () => {
    expect(await verdictOf(leaks(), [quiet, { ...quiet, pid: 2, descriptors: 900 }])).toMatchObject({
      judged: 0,
      broken: [],
    });
  });

  it('is broken by more keys of Redis than callers have', async () => {
    expect(await broken(quiet, { ...quiet, redisKeys: 5000 })).toEqual([
      expect.stringContaining('line 2: Redis held 5000 keys'),
    ]);
  });
});
