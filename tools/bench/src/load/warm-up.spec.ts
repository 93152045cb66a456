import { describe, expect, it } from '@jest/globals';
import type { LoadResult } from './load-plan.ts';
import { warmUp } from './warm-up.ts';

const answering = (succeeded: number) => () => Promise.resolve({ succeeded } as LoadResult); // Only this member is read.
const { signal } = new AbortController();

describe('warmUp', () => {
  it('continues until enough requests were answered', async () => {
    expect(await warmUp(answering(400), { requests: 1_000, signal })).toHaveLength(3);
    expect(await warmUp(answering(5_000), { requests: 1_000, signal })).toHaveLength(1);
  });

  it('ends where a server answers too little, and where the run was interrupted', async () => {
    expect(await warmUp(answering(0), { requests: 1_000, signal })).toHaveLength(10);
    await expect(warmUp(answering(0), { requests: 1, signal: AbortSignal.abort() })).rejects.toThrow();
  });
});
