import { describe, expect, it } from '@jest/globals';
import { clientSignal, forClient, forEverybody, ResultTurns } from './looking.ts';

describe('results of what looks', () => {
  it('are handed over in order, one a turn while each takes long, and others go on between', async () => {
    const turns = new ResultTurns();
    const seen: string[] = [];
    const turn = (): void => {
      if (seen.push('other') < 40) setImmediate(turn);
    };
    setImmediate(turn);
    const show = (name: string): void => {
      const untilMs = performance.now() + 4;
      while (performance.now() < untilMs);
      seen.push(name);
    };
    await Promise.all(['first', 'second', 'third'].map((name) => turns.next(name).then(show)));
    const shown = seen.flatMap((what, at) => (what === 'other' ? [] : [at]));
    expect(seen.filter((what) => what !== 'other')).toEqual(['first', 'second', 'third']);
    expect(shown.every((at, which) => which === 0 || at > shown[which - 1]! + 1)).toBe(true);
  });

  it('are handed over by the dozen where each takes little', async () => {
    const turns = new ResultTurns();
    let others = 0;
    let isOver = false;
    const turn = (): void => {
      others += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    await Promise.all(Array.from({ length: 200 }, (_none, at) => turns.next(at)));
    isOver = true;
    expect(others).toBeLessThan(100);
  });

  it('are handed over after a rest too', async () => {
    const turns = new ResultTurns();
    expect(await turns.next(1)).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await turns.next(2)).toBe(2);
  });
});

it('work for everybody has no client, also when one began it', async () => {
  const { signal } = new AbortController();
  const later = () => new Promise<void>((resolve) => setImmediate(resolve)).then(clientSignal);
  const seen = forClient(signal, () => [later(), forEverybody(later), later()]);
  expect(await Promise.all(seen)).toEqual([signal, undefined, signal]);
});
