import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallerPlaces, type Leave } from './caller-places.ts';

function timers() {
  const running = new Set<() => void>();
  return {
    running,
    startTimer: (done: () => void) => {
      running.add(done);
      return () => running.delete(done);
    },
    ring: () => {
      for (const done of running) {
        running.delete(done);
        done();
      }
    },
  };
}

const refused = expect.objectContaining({ code: 'RATE_LIMITED', status: 429, retryAfterSeconds: 1 });

describe('the places of a caller', () => {
  it('are taken at once while there are any, and by others whoever took theirs', () => {
    const places = new CallerPlaces({ places: 2, waitMs: 250 });
    expect([places.take('a'), places.take('a'), places.take('b')].map((leave) => typeof leave)).toEqual([
      'function',
      'function',
      'function',
    ]);
  });

  it('are handed to the one who waited longest', async () => {
    const places = new CallerPlaces({ places: 1, waitMs: 250, ...timers() });
    const leave = places.take('a') as Leave;
    const order: string[] = [];
    const second = Promise.resolve(places.take('a')).then((next) => (order.push('second'), next));
    const third = Promise.resolve(places.take('a')).then(() => order.push('third'));
    leave();
    (await second)();
    await third;
    expect(order).toEqual(['second', 'third']);
  });

  it('refuse who waited in vain', async () => {
    const { startTimer, ring } = timers();
    const places = new CallerPlaces({ places: 1, waitMs: 250, startTimer });
    const leave = places.take('a') as Leave;
    const waiting = Promise.resolve(places.take('a'));
    ring();
    await expect(waiting).rejects.toEqual(refused);
    leave();
    expect(places.callers).toBe(0);
  });

  it('refuse at once where nobody may wait', async () => {
    const places = new CallerPlaces({ places: 1, waitMs: 0 });
    void places.take('a');
    await expect(Promise.resolve(places.take('a'))).rejects.toEqual(refused);
  });

  it('refuse at once where too many wait', async () => {
    const { startTimer, running } = timers();
    const places = new CallerPlaces({ places: 1, waitMs: 250, startTimer });
    void places.take('a');
    const waiting = Array.from({ length: 201 }, () => Promise.resolve(places.take('a')));
    await expect(waiting.at(-1)).rejects.toEqual(refused);
    expect(running.size).toBe(200);
  });

  it('are never more than allowed, never lost, and cost nothing once all have left', async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('take', 'leave', 'ring'), fc.constantFrom('a', 'b')));
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { startTimer, ring } = timers();
        const places = new CallerPlaces({ places: 2, waitMs: 250, startTimer });
        const inside: Record<string, Leave[]> = { a: [], b: [] };
        for (const [step, caller] of all) {
          if (step === 'take')
            Promise.resolve(places.take(caller)).then(
              (leave) => inside[caller]!.push(leave),
              () => undefined,
            );
          else if (step === 'leave') inside[caller]!.shift()?.();
          else ring();
          await new Promise((resolve) => setImmediate(resolve));
          expect(inside['a']!.length).toBeLessThanOrEqual(2);
          expect(inside['b']!.length).toBeLessThanOrEqual(2);
        }
        ring();
        for (let rounds = 0; rounds < all.length + 1; rounds += 1) {
          for (const caller of ['a', 'b']) inside[caller]!.splice(0).forEach((leave) => leave());
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect(places.callers).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});
