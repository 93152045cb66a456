import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { BodyBudget } from './body-budget.ts';

const BOUNDS = { inFlightBytes: 64, ofOneBytes: 48, largeBytes: 1, slowBytesPerSecond: 2, patienceMs: 2000 };
let budget: BodyBudget;
let nowMs: number;
beforeEach(() => {
  nowMs = 0;
  budget = new BodyBudget(BOUNDS, () => nowMs);
});
const refused = (act: () => void) =>
  expect(act).toThrow(expect.objectContaining({ code: 'OVERLOADED', status: 503, retryAfterSeconds: 5 }));

describe('the bodies in flight', () => {
  it('are refused beyond their bound, until others are released', () => {
    const [one, two] = [budget.open('a'), budget.open('b')];
    one.arrived(40);
    two.arrived(24);
    expect(budget.bytes).toBe(64);
    refused(() => budget.open('c').arrived(1));
    one.release();
    budget.open('c').arrived(1);
    expect(budget.bytes).toBe(25);
  });

  it('take what has arrived of them, and nothing for what they announce', () => {
    for (const source of ['a', 'b', 'c']) budget.open(source).arrived(1);
    expect(budget.bytes).toBe(3);
    budget.open('d').arrived(40);
  });

  it('above the size of a large one are one at a time for a source', () => {
    const one = budget.open('a');
    one.arrived(1);
    const two = budget.open('a');
    two.arrived(2);
    refused(() => one.arrived(2));
    budget.open('b').arrived(2);
    two.release();
    one.arrived(2);
  });

  it('of one source leave room for others', () => {
    for (let count = 0; count < 48; count += 1) budget.open('a').arrived(1);
    refused(() => budget.open('a').arrived(1));
    budget.open('b').arrived(16);
  });

  /** A body of which so many bytes arrived at the start, and what cut it. */
  const begun = (source: string, bytes: number) => {
    const body = budget.open(source);
    const cut = jest.fn<(error: AppError) => void>();
    body.onCut(cut);
    body.arrived(bytes);
    return { body, cut };
  };
  const tooSlow = expect.objectContaining({ code: 'OVERLOADED', message: expect.stringContaining('too slowly') });

  it('give way to another of the source where they trickle, but not before their time', () => {
    const { body, cut } = begun('a', 3);
    nowMs = 1999;
    refused(() => budget.open('a').arrived(2));
    expect(cut).not.toHaveBeenCalled();
    nowMs = 2000;
    budget.open('a').arrived(2);
    expect(cut.mock.calls).toEqual([[tooSlow]]);
    expect(budget.bytes).toBe(2);
    body.release();
    body.arrived(4);
    expect(budget.bytes).toBe(2);
  });

  it('keep their place where they arrive fast enough, or nobody needs it', () => {
    const fast = begun('a', 2);
    const slow = begun('b', 3);
    for (let bytes = 4; bytes <= 20; bytes += 2) {
      nowMs += 1000;
      fast.body.arrived(bytes);
      refused(() => budget.open('a').arrived(2));
    }
    for (const { cut } of [fast, slow]) expect(cut).not.toHaveBeenCalled();
  });

  it('give way once they rest, however much came at once before', () => {
    const { cut } = begun('a', 40);
    nowMs = 2000;
    budget.open('a').arrived(2);
    expect(cut.mock.calls).toEqual([[tooSlow]]);
  });

  it('keep their place once they have arrived, however long their source takes', () => {
    const { body, cut } = begun('a', 3);
    body.onCut(undefined);
    nowMs = 60_000;
    refused(() => budget.open('a').arrived(2));
    expect(cut).not.toHaveBeenCalled();
  });

  it('give way to other sources only as far as needed, the slowest first', () => {
    const slower = [begun('a', 29), begun('b', 20), begun('c', 14)];
    nowMs = 1000;
    slower[0]!.body.arrived(30);
    nowMs = 60_000;
    budget.open('d').arrived(30);
    expect(slower.map(({ cut }) => cut.mock.calls.length)).toEqual([0, 1, 1]);
    expect(budget.bytes).toBe(60);
  });

  it('give back what they took, whatever happened in between', () => {
    const step = fc.record({
      source: fc.constantFrom('a', 'b'),
      arrivals: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 4 }),
      releases: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const fresh = new BodyBudget(BOUNDS, () => 0);
        const bodies = steps.map(({ source, arrivals, releases }) => {
          const body = fresh.open(source);
          for (const bytes of arrivals) {
            try {
              body.arrived(bytes);
            } catch {
              break;
            }
          }
          expect(fresh.bytes).toBeLessThanOrEqual(BOUNDS.inFlightBytes);
          return { body, releases };
        });
        for (const { body, releases } of bodies) for (let time = 0; time < releases; time += 1) body.release();
        expect(fresh.bytes).toBe(0);
        fresh.open('a').arrived(40);
      }),
    );
  });
});
