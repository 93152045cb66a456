import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BodyBudget } from './body-budget.ts';

const BOUNDS = { inFlightBytes: 64, ofOneBytes: 48, largeBytes: 1 };
let budget: BodyBudget;
beforeEach(() => {
  budget = new BodyBudget(BOUNDS);
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

  it('give back what they took, whatever happened in between', () => {
    const step = fc.record({
      source: fc.constantFrom('a', 'b'),
      arrivals: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 4 }),
      releases: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const fresh = new BodyBudget(BOUNDS);
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
