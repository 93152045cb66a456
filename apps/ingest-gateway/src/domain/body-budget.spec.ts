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
    const [one, two] = [budget.open('a', 40, 50), budget.open('b', 24, 50)];
    one.arrived(0.5);
    two.arrived(2);
    expect(budget.bytes).toBe(64);
    refused(() => budget.open('c', 1, 50).arrived(1));
    one.release();
    budget.open('c', 1, 50).arrived(1);
    expect(budget.bytes).toBe(25);
  });

  it('above the size of a large one are one at a time for a source', () => {
    const one = budget.open('a', 2, 50);
    one.arrived(1);
    refused(() => budget.open('a', 2, 50).arrived(1));
    budget.open('a', 1, 50).arrived(1);
    budget.open('b', 2, 50).arrived(1);
    one.release();
    budget.open('a', 2, 50).arrived(2);
  });

  it('without an announced length take all that they may reach once they are large', () => {
    const body = budget.open('a', undefined, 20);
    body.arrived(1);
    expect(budget.bytes).toBe(1);
    body.arrived(1.5);
    expect(budget.bytes).toBe(20);
    body.arrived(20);
    expect(budget.bytes).toBe(20);
    body.release();
    expect(budget.bytes).toBe(0);
  });

  it('of one source leave room for others', () => {
    for (let count = 0; count < 48; count += 1) budget.open('a', 1, 50).arrived(1);
    refused(() => budget.open('a', 1, 50).arrived(1));
    budget.open('b', 16, 50).arrived(1);
  });

  it('give back what they took, whatever happened in between', () => {
    const step = fc.record({
      source: fc.constantFrom('a', 'b'),
      announced: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
      arrivals: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 4 }),
      releases: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const fresh = new BodyBudget(BOUNDS);
        const bodies = steps.map(({ source, announced, arrivals, releases }) => {
          const body = fresh.open(source, announced, 30);
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
        fresh.open('a', 40, 50).arrived(1);
      }),
    );
  });
});
