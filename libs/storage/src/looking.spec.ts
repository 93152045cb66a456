import { describe, expect, it } from '@jest/globals';
import { forClient, forEverybody, lookingClient, restMsOf, ResultTurns } from './looking.ts';

describe('results of what looks', () => {
  it('are handed over in order, one a turn while each takes long, and others go on between', async () => {
    const turns = new ResultTurns(() => true);
    const seen: string[] = [];
    let isOver = false;
    const turn = (): void => {
      if (seen.at(-1) !== 'other') seen.push('other');
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const show = (name: string): void => {
      const untilMs = performance.now() + 4;
      while (performance.now() < untilMs);
      seen.push(name);
    };
    await Promise.all(['first', 'second', 'third'].map((name) => turns.next(name).then(show)));
    isOver = true;
    expect(seen.filter((what) => what !== 'other')).toEqual(['first', 'second', 'third']);
    const between = (one: string, other: string) => seen.slice(seen.indexOf(one) + 1, seen.indexOf(other));
    expect([between('first', 'second'), between('second', 'third')]).toEqual([['other'], ['other']]);
  });

  it('are handed over by the dozen where each takes little', async () => {
    const turns = new ResultTurns(() => true);
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
    const turns = new ResultTurns(() => true);
    expect(await turns.next(1)).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await turns.next(2)).toBe(2);
  });
});

it('work for everybody has no client, also when one began it', async () => {
  const { signal } = new AbortController();
  const later = () => new Promise<void>((resolve) => setImmediate(resolve)).then(lookingClient);
  const seen = forClient({ signal, share: 'key-1' }, () => [later(), forEverybody(later), later()]);
  const client = { signal, share: 'key-1' };
  expect(await Promise.all(seen)).toEqual([client, undefined, client]);
});

it('work within the work of a client has the same share', () => {
  const [outer, inner] = [new AbortController().signal, new AbortController().signal];
  const seen = forClient({ signal: outer, share: 'key-1' }, () => forClient({ signal: inner }, lookingClient));
  expect(seen).toEqual({ signal: inner, share: 'key-1' });
});

it('results are handed over at once while nobody decides', async () => {
  const turns = new ResultTurns(() => false);
  let isLater = false;
  setImmediate(() => (isLater = true));
  await turns.next(1);
  await turns.next(2);
  expect(isLater).toBe(false);
});

describe('while somebody decides', () => {
  it('a connection that looked rests as long as it looked, within the end of its lease', () => {
    const looking = { statementTimeoutMs: 1000, yields: () => true };
    expect(restMsOf(looking, { tookMs: 7, leftMs: 500 })).toBe(7);
    expect(restMsOf(looking, { tookMs: 900, leftMs: 500 })).toBe(200);
    expect(restMsOf(looking, { tookMs: 900, leftMs: 30 })).toBe(30);
    expect(restMsOf(looking, { tookMs: 900, leftMs: -5 })).toBe(0);
    expect(restMsOf({ ...looking, yields: () => false }, { tookMs: 7, leftMs: 500 })).toBe(0);
    expect(restMsOf({ statementTimeoutMs: 1000 }, { tookMs: 7, leftMs: 500 })).toBe(0);
  });

  it('results are handed over after rests', async () => {
    const turns = new ResultTurns(() => true);
    const shownAt: number[] = [];
    const show = (): void => {
      const untilMs = performance.now() + 8;
      while (performance.now() < untilMs);
      shownAt.push(performance.now());
    };
    await Promise.all([1, 2, 3].map((result) => turns.next(result).then(show)));
    const pauses = shownAt.slice(1).map((at, which) => at - shownAt[which]! - 8);
    // Timers may be a millisecond early.
    expect(pauses.every((ms) => ms >= 6)).toBe(true);
  });
});
