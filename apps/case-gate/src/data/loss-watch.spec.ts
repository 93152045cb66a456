import { describe, expect, it } from '@jest/globals';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import { lossWatch } from './loss-watch.ts';

const first: DeclaredLoss[] = [{ epoch: 1, keptAtMs: 5 }];

/** A watch whose reads the test answers in any order. */
function watched() {
  let nowMs = 0;
  const answers: { resolve: (losses: DeclaredLoss[]) => void; reject: (error: Error) => void }[] = [];
  const read = () => new Promise<DeclaredLoss[]>((resolve, reject) => void answers.push({ resolve, reject }));
  return { watch: lossWatch(read, () => nowMs), answers, advance: (ms: number) => (nowMs += ms) };
}

describe('the loss watch', () => {
  it('caches for less than a second from the time of the question', async () => {
    const { watch, answers, advance } = watched();
    const one = watch.current();
    advance(600);
    answers[0]!.resolve([]);
    expect(await one).toEqual([]);
    advance(399);
    expect(await watch.current()).toEqual([]);
    expect(answers).toHaveLength(1);
    advance(1);
    const other = watch.current();
    expect(answers).toHaveLength(2);
    answers[1]!.resolve(first);
    expect(await other).toEqual(first);
  });

  it('shares one question among callers, except with those who come more than a second after it', async () => {
    const { watch, answers, advance } = watched();
    const early = [watch.current(), watch.refresh()];
    advance(1000);
    const late = watch.current();
    expect(answers).toHaveLength(2);
    answers[1]!.resolve(first);
    expect(await late).toEqual(first);
    answers[0]!.resolve([]);
    expect(await Promise.all(early)).toEqual([[], []]);
    // The answer to the older question is ignored.
    expect(await watch.current()).toEqual(first);
  });

  it('fails where the losses cannot be read, and asks again', async () => {
    const { watch, answers } = watched();
    const one = watch.current();
    answers[0]!.reject(new Error('away'));
    await expect(one).rejects.toThrow('away');
    const other = watch.current();
    answers[1]!.resolve(first);
    expect(await other).toEqual(first);
  });
});
