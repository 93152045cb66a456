import { describe, expect, it } from '@jest/globals';
import { WorldState } from './world-state.ts';

const change = (block: number, value: string | undefined, transaction = 0) => ({
  block,
  transaction,
  value: value === undefined ? undefined : Buffer.from(value),
  transactionId: `tx-${block}`,
  timestamp: undefined,
});
const keysOf = (state: WorldState, start: string, end: string, height: number) =>
  [...state.range(start, end, height)].map(([key]) => key);

describe('WorldState', () => {
  it('returns the state as of each height', () => {
    const state = new WorldState();
    state.apply('a', change(1, 'one'));
    state.apply('a', change(3, 'three'));
    state.apply('a', change(5, undefined));
    expect(state.get('a', 1)).toBeUndefined();
    expect(state.get('a', 2)).toEqual({ value: Buffer.from('one'), version: { block: 1, transaction: 0 } });
    expect(state.get('a', 4)?.version).toEqual({ block: 3, transaction: 0 });
    expect(state.get('a', 6)).toBeUndefined();
    expect(state.history('a').map(({ block }) => block)).toEqual([5, 3, 1]);
  });

  it('orders keys by their UTF-8 bytes and excludes the end of a range', () => {
    const state = new WorldState();
    // In UTF-16, U+FFFD sorts after U+10000.
    for (const key of ['b', '\u{10000}', 'a', '\ufffd', 'ab']) state.apply(key, change(1, key));
    expect(keysOf(state, '', '', 2)).toEqual(['a', 'ab', 'b', '\ufffd', '\u{10000}']);
    expect(keysOf(state, 'ab', '\ufffd', 2)).toEqual(['ab', 'b']);
    expect(keysOf(state, '', '', 1)).toEqual([]);
  });

  it('iterates over the keys present at its start', () => {
    const state = new WorldState();
    state.apply('b', change(1, 'b'));
    state.apply('d', change(1, 'd'));
    const walk = state.range('', '', 2);
    expect(walk.next().value?.[0]).toBe('b');
    state.apply('a', change(2, 'a'));
    state.apply('c', change(2, 'c'));
    expect([...walk].map(([key]) => key)).toEqual(['d']);
  });
});
