import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { tokenHashes } from './index.ts';

const hexOf = (token: string) => createHash('sha256').update(token).digest('hex');
const of = (text: string) => tokenHashes(() => text);
const matches = (hashes: ReturnType<typeof of>, token: string) => hashes.find(token) !== undefined;

describe('hashes of tokens', () => {
  it('match exactly their tokens, in any position', () => {
    const hashes = of([hexOf('one'), hexOf('two'), hexOf('three')].join(','));
    expect(hashes.size).toBe(3);
    for (const token of ['one', 'two', 'three']) expect(matches(hashes, token)).toBe(true);
    for (const token of ['', 'On', 'one ', 'four', hexOf('one')]) expect(matches(hashes, token)).toBe(false);
  });

  it('match the SHA-256 of "abc" (FIPS 180-4)', () => {
    const hashes = of('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(matches(hashes, 'abc')).toBe(true);
    expect(hashes.ids).toEqual(['ba7816bf']);
  });

  it('accept digits in either case, and blanks around entries', () => {
    const hashes = of(` ${hexOf('one').toUpperCase()} ,\n${hexOf('two')} `);
    expect(matches(hashes, 'one') && matches(hashes, 'two')).toBe(true);
  });

  it.each(['', '  '])('are empty and match nothing when the text is "%s"', (text) => {
    const hashes = of(text);
    expect([hashes.size, hashes.ids, hashes.problem]).toEqual([0, [], undefined]);
    for (const token of ['', 'one']) expect(matches(hashes, token)).toBe(false);
  });

  it('report faults by position, without quoting', () => {
    const text = `${hexOf('one')},my-raw-token,${hexOf('two')},${hexOf('x').slice(1)},`;
    expect(() => of(text)).toThrow(
      new Error('Not a SHA-256 hash of 64 hexadecimal digits: entry 2, 4, 5 of the list.'),
    );
  });

  it('report which were presented since the last call', () => {
    const hashes = of(`${hexOf('one')},${hexOf('two')}`);
    for (const token of ['one', 'one', 'three']) hashes.find(token);
    expect([hashes.takeUsed(), hashes.takeUsed()]).toEqual([[hexOf('one').slice(0, 8)], []]);
  });
});

describe('a list of hashes that changes while it is used', () => {
  function changing(first: string) {
    let [text, nowMs, reads] = [first, 0, 0];
    const read = () => {
      reads += 1;
      if (text === 'gone') throw new Error('must name a file that can be read');
      return text;
    };
    const hashes = tokenHashes(read, () => nowMs);
    return {
      hashes,
      reads: () => reads,
      write: (next: string, afterMs = 1000) => {
        text = next;
        nowMs += afterMs;
      },
    };
  }

  it('is re-read at most once a second, however often it is used', () => {
    const { hashes, write, reads } = changing(hexOf('old'));
    write(`${hexOf('old')},${hexOf('new')}`, 999);
    expect([matches(hashes, 'new'), matches(hashes, 'old'), reads()]).toEqual([false, true, 1]);
    write(`${hexOf('old')},${hexOf('new')}`, 1);
    expect([matches(hashes, 'new'), matches(hashes, 'old'), reads()]).toEqual([true, true, 2]);
    write(hexOf('new'));
    expect([matches(hashes, 'old'), matches(hashes, 'new'), reads()]).toEqual([false, true, 3]);
  });

  it.each([
    ['cannot be read', 'gone', 'must name a file that can be read'],
    ['is malformed', `${hexOf('new')},raw-token`, 'entry 2 of the list'],
    ['is empty', ' \n', 'the list is empty'],
  ])('is ignored if it %s, and re-read later', (_, wrong, said) => {
    const { hashes, write } = changing(hexOf('old'));
    write(wrong);
    expect([matches(hashes, 'old'), matches(hashes, 'new'), hashes.size]).toEqual([true, false, 1]);
    expect(hashes.problem).toContain(said);
    expect(hashes.problem).not.toContain('raw-token');
    write(hexOf('new'));
    expect([matches(hashes, 'old'), matches(hashes, 'new'), hashes.problem]).toEqual([false, true, undefined]);
  });
});
