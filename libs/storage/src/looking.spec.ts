import { describe, expect, it } from '@jest/globals';
import { clientSignal, forClient, forEverybody, ResultTurns } from './looking.ts';

describe('results of what looks', () => {
  it('are handed over in order, each in a turn of its own, in which others go on', async () => {
    const turns = new ResultTurns();
    const seen: string[] = [];
    const turn = (): void => {
      if (seen.push('other') < 20) setImmediate(turn);
    };
    setImmediate(turn);
    await Promise.all(['first', 'second', 'third'].map((name) => turns.next(name).then((it) => seen.push(it))));
    expect(seen).toEqual(['other', 'first', 'other', 'second', 'other', 'third']);
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
