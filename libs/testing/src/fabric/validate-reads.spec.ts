import { describe, expect, it } from '@jest/globals';
import { readWriteSet, type RangeRead } from './read-write-set.ts';
import { validateReads, writesOf } from './validate-reads.ts';
import { WorldState } from './world-state.ts';

/** TxValidationCode. */
const [VALID, MVCC_READ_CONFLICT, PHANTOM_READ_CONFLICT] = [0, 11, 12];
const at = (block: number) => ({ block, transaction: 0 });
const stateWith = (...keys: (readonly [string, number])[]) => {
  const state = new WorldState();
  for (const [key, block] of keys) {
    state.apply(key, { ...at(block), value: Buffer.from('x'), transactionId: '', timestamp: undefined });
  }
  return state;
};
const nothing = { reads: new Map(), writes: new Map(), ranges: [] };
const judge = (parts: Partial<Parameters<typeof readWriteSet>[1]>, state: WorldState) =>
  validateReads(readWriteSet('cc', { ...nothing, ...parts }), () => state);
const range = (parts: Partial<RangeRead>): RangeRead => ({
  start: 'a',
  end: 'z',
  exhausted: true,
  reads: new Map(),
  ...parts,
});

describe('validateReads', () => {
  it.each([
    ['as it was', at(1), stateWith(['k', 1]), VALID],
    ['written since', at(1), stateWith(['k', 1], ['k', 2]), MVCC_READ_CONFLICT],
    ['gone since', at(1), stateWith(), MVCC_READ_CONFLICT],
    ['absent as it was', undefined, stateWith(), VALID],
    ['there since', undefined, stateWith(['k', 2]), MVCC_READ_CONFLICT],
  ])('a key that is %s', (_what, version, state, code) => {
    expect(judge({ reads: new Map([['k', version]]) }, state)).toBe(code);
  });

  it.each([
    ['as it was', range({ reads: new Map([['k', at(1)]]) }), stateWith(['k', 1], ['zz', 2]), VALID],
    [
      'longer by a key',
      range({ reads: new Map([['k', at(1)]]) }),
      stateWith(['k', 1], ['m', 2]),
      PHANTOM_READ_CONFLICT,
    ],
    ['shorter by a key', range({ reads: new Map([['k', at(1)]]) }), stateWith(), PHANTOM_READ_CONFLICT],
    ['of another version', range({ reads: new Map([['k', at(1)]]) }), stateWith(['k', 2]), PHANTOM_READ_CONFLICT],
    ['empty as it was', range({}), stateWith(), VALID],
    ['no longer empty', range({}), stateWith(['k', 1]), PHANTOM_READ_CONFLICT],
  ])('a range that is %s', (_what, read, state, code) => {
    expect(judge({ ranges: [read] }, state)).toBe(code);
  });

  it('ignores keys after the last one of a scan that stopped early', () => {
    const broken = range({ end: 'k', exhausted: false, reads: new Map([['k', at(1)]]) });
    expect(judge({ ranges: [broken] }, stateWith(['k', 1], ['m', 2]))).toBe(VALID);
    expect(judge({ ranges: [broken] }, stateWith(['b', 2], ['k', 1]))).toBe(PHANTOM_READ_CONFLICT);
  });
});

describe('writesOf', () => {
  it('distinguishes values from deletions', () => {
    const writes = new Map([
      ['b', undefined],
      ['a', Buffer.from('x')],
    ]);
    expect(writesOf(readWriteSet('cc', { ...nothing, writes }))).toEqual([
      { namespace: 'cc', key: 'a', value: Buffer.from('x') },
      { namespace: 'cc', key: 'b', value: undefined },
    ]);
  });
});
