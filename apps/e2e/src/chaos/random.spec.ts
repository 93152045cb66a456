import { describe, expect, it } from '@jest/globals';
import type { FaultKind } from './faults/fault.ts';
import { planOf } from './plan.ts';
import { randomOf } from './random.ts';

const many = <Value>(count: number, draw: () => Value): Value[] => Array.from({ length: count }, draw);

describe('numbers of a seed', () => {
  it('are the same each time, and others for another seed or name', () => {
    const drawn = (seed: string) => many(5, randomOf(seed).next);
    expect(drawn('one')).toEqual(drawn('one'));
    expect(drawn('one')).not.toEqual(drawn('two'));
    expect(many(5, randomOf('one').fork('a').next)).not.toEqual(many(5, randomOf('one').fork('b').next));
  });

  it('of a fork do not change with what was drawn before', () => {
    const random = randomOf('one');
    const first = random.fork('a').next();
    random.next();
    expect(random.fork('a').next()).toBe(first);
  });

  it('are spread over the whole range', () => {
    const random = randomOf('range');
    const counts = new Map<number, number>();
    for (const value of many(6_000, () => random.between(1, 6))) counts.set(value, (counts.get(value) ?? 0) + 1);
    expect([...counts.keys()].toSorted()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(random.text(20)).toMatch(/^[0-9a-f]{20}$/);
  });
});

describe('a plan', () => {
  const kind = (name: string): FaultKind => ({ name, run: () => Promise.reject(new Error('is not run here')) });
  const kinds = ['a', 'b', 'c', 'd', 'e', 'f'].map(kind);
  const names = (seed: string, count: number): string[] => {
    const plan = planOf(kinds, randomOf(seed));
    return many(count, () => (plan.next().value as FaultKind).name);
  };

  it('has each kind once in a round, in an order of the seed', () => {
    const drawn = names('one', 12);
    expect(drawn.slice(0, 6).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(drawn.slice(6).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(drawn.slice(6)).not.toEqual(drawn.slice(0, 6));
    expect(drawn).toEqual(names('one', 12));
    expect(drawn).not.toEqual(names('two', 12));
  });
});
