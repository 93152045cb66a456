import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { TickBatcher } from './key-use.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A run that doubles its inputs and is ended by the test. */
function heldRuns(): { run: (inputs: number[]) => Promise<number[]>; batches: number[][]; end: (() => void)[] } {
  const batches: number[][] = [];
  const end: (() => void)[] = [];
  const run = (inputs: number[]): Promise<number[]> => {
    batches.push(inputs);
    return new Promise((resolve) => end.push(() => resolve(inputs.map((input) => 2 * input))));
  };
  return { run, batches, end };
}

describe('TickBatcher', () => {
  it('batches all calls of one turn and returns each caller its own answer', async () => {
    const batches: number[][] = [];
    const batcher = new TickBatcher((inputs: number[]) => {
      batches.push(inputs);
      return Promise.resolve(inputs.map((input) => 2 * input));
    });
    const asked = [1, 2, 3].map((input) => batcher.call(input));
    await Promise.resolve();
    asked.push(batcher.call(3)); // A microtask later, the same turn, the same input.
    expect(await Promise.all(asked)).toEqual([2, 4, 6, 6]);
    expect(batches).toEqual([[1, 2, 3, 3]]);
  });

  it('splits at maxBatch and runs at most maxRunning calls', async () => {
    const { run, batches, end } = heldRuns();
    const batcher = new TickBatcher(run, { maxBatch: 2, maxRunning: 2 });
    const asked = Promise.all([1, 2, 3, 4, 5, 6, 7].map((input) => batcher.call(input)));
    await turn();
    expect(batches).toEqual([[1, 2], [3, 4]]); // prettier-ignore
    end[0]?.();
    await turn();
    await turn();
    expect(batches).toEqual([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
    end[1]?.();
    end[2]?.();
    await turn();
    await turn();
    end[3]?.();
    expect(await asked).toEqual([2, 4, 6, 8, 10, 12, 14]);
  });

  it('collects inputs while calls run', async () => {
    const { run, batches, end } = heldRuns();
    const batcher = new TickBatcher(run, { maxRunning: 1 });
    const first = batcher.call(1);
    await turn();
    const later = [];
    for (const input of [2, 3, 4]) {
      later.push(batcher.call(input));
      await turn();
    }
    expect(batches).toEqual([[1]]);
    end[0]?.();
    expect(await first).toBe(2);
    await turn();
    end[1]?.();
    expect(await Promise.all(later)).toEqual([4, 6, 8]);
    expect(batches).toEqual([[1], [2, 3, 4]]);
  });

  it('rejects the callers of a failed call only', async () => {
    const failure = new Error('no answer');
    const batcher = new TickBatcher(
      (inputs: number[]) => (inputs.includes(13) ? Promise.reject(failure) : Promise.resolve(inputs)),
      { maxBatch: 2 },
    );
    const asked = await Promise.allSettled([1, 2, 13, 3, 4].map((input) => batcher.call(input)));
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await batcher.call(5)).toBe(5);
  });

  it('rejects if run throws synchronously or returns too few outputs', async () => {
    const throwing = new TickBatcher((): Promise<number[]> => {
      throw new Error('at once');
    });
    await expect(throwing.call(1)).rejects.toThrow('at once');
    const silent = new TickBatcher(() => Promise.resolve([1]));
    const [first, second] = await Promise.allSettled([silent.call(1), silent.call(2)]);
    expect([first?.status, second?.status]).toEqual(['rejected', 'rejected']);
  });

  it('rejects at once with OVERLOADED if too many wait', async () => {
    const { run, end } = heldRuns();
    const batcher = new TickBatcher(run, { maxBatch: 1, maxRunning: 1, maxWaiting: 2 });
    const running = batcher.call(1);
    await turn();
    const waiting = [batcher.call(2), batcher.call(3)];
    const error: unknown = await batcher.call(4).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'OVERLOADED' });
    for (let call = 0; call < 3; call += 1) {
      end[call]?.();
      await turn();
      await turn();
    }
    expect(await Promise.all([running, ...waiting])).toEqual([2, 4, 6]);
  });

  it('answers every input in order for any limits and timing', async () => {
    const someRounds = fc.array(fc.array(fc.integer(), { maxLength: 20 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        someRounds,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (rounds, maxBatch, maxRunning) => {
          let running = 0;
          let most = 0;
          const batcher = new TickBatcher(
            async (inputs: number[]) => {
              running += 1;
              most = Math.max(most, running);
              expect(inputs.length).toBeLessThanOrEqual(maxBatch);
              await turn();
              running -= 1;
              return inputs.map((input) => -input);
            },
            { maxBatch, maxRunning },
          );
          const asked: Promise<number>[] = [];
          for (const round of rounds) {
            asked.push(...round.map((input) => batcher.call(input)));
            await turn();
          }
          expect(await Promise.all(asked)).toEqual(rounds.flat().map((input) => -input));
          expect(most).toBeLessThanOrEqual(maxRunning);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('rejects limits of 0', () => {
    const run = (): Promise<number[]> => Promise.resolve([]);
    expect(() => new TickBatcher(run, { maxBatch: 0 })).toThrow();
    expect(() => new TickBatcher(run, { maxRunning: 0 })).toThrow();
  });
});
