import { describe, expect, it } from '@jest/globals';
import { verdictTable } from './verdict-table.ts';

describe('verdictTable', () => {
  it('has a line for each promise, and under it what broke it, and how soon', () => {
    const text = verdictTable([
      { promise: 'one', judged: 12, broken: [] },
      { promise: 'two', judged: 0, broken: [] },
      { promise: 'three', judged: 7, broken: ['line 9: lost', 'and 3 more'], firstLine: 9, afterSeconds: 4 },
    ]);
    expect(text.split('\n').map((line) => line.trim().replace(/ +/g, ' '))).toEqual([
      'state judged promise',
      'kept 12 one',
      'unseen 0 two',
      'BROKEN 7 three (first after 4 s)',
      'line 9: lost',
      'and 3 more',
      '',
    ]);
  });
});
