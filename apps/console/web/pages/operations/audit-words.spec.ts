import { describe, expect, it } from '@jest/globals';
import { detailInWords } from './audit-words.ts';

describe('the details of an audit event', () => {
  it.each([
    [null, '–'],
    ['text', 'text'],
    [{}, ''],
    [{ label: 'Till', replaces: null, uses: ['a'] }, 'label: Till, replaces: –, uses: ["a"]'],
    [[1, 2], '[1,2]'],
  ])('%j are shown as %s', (detail, words) => {
    expect(detailInWords(detail)).toBe(words);
  });

  it('are cut by characters, not in the middle of one', () => {
    expect(detailInWords('🜁'.repeat(300))).toBe(`${'🜁'.repeat(240)}…`);
  });
});
