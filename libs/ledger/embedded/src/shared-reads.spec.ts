import { describe, expect, it } from '@jest/globals';
import { SharedReads } from './shared-reads.ts';

const MANY = Array.from({ length: 40 });

/** Reads that the test answers, in the order in which they began. */
function sharedReads() {
  let nowMs = 0;
  const begun: { key: string; answer: (value: number) => void; fail: (error: Error) => void }[] = [];
  const seen: [number, number | undefined][] = [];
  const reads = new SharedReads<number>({
    now: () => nowMs,
    read: (key) => new Promise((answer, fail) => void begun.push({ key, answer, fail })),
    onRead: (value, before) => seen.push([value, before]),
  });
  const next = async (at: number) => {
    while (begun.length <= at) await new Promise((resolve) => setTimeout(resolve, 1));
    return begun[at]!;
  };
  return { reads, begun, seen, next, pass: (ms: number) => (nowMs += ms) };
}

describe('a fresh value', () => {
  it('is of one read for all callers that came after the running one began, and never of that one', async () => {
    const { reads, begun, next } = sharedReads();
    const first = reads.fresh('a');
    const later = Array.from({ length: 40 }, () => reads.fresh('a'));
    begun[0]!.answer(1);
    expect(await first).toBe(1);
    const during = reads.fresh('a'); // The second read has not begun.
    (await next(1)).answer(2);
    expect(await Promise.all([...later, during])).toEqual(Array.from({ length: 41 }, () => 2));
    expect(begun).toHaveLength(2);
  });

  it('begins at once for a caller who comes alone, and for another key', async () => {
    const { reads, begun } = sharedReads();
    void reads.fresh('a');
    void reads.fresh('b');
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
    begun[0]!.answer(1);
    await new Promise((resolve) => setImmediate(resolve));
    void reads.fresh('a');
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  });

  it('fails for those who asked for it, and the next read goes on', async () => {
    const { reads, begun, next } = sharedReads();
    const [first, second] = [reads.fresh('a'), reads.fresh('a')];
    begun[0]!.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    (await next(1)).answer(2);
    expect(await second).toBe(2);
  });
});

describe('a recent value', () => {
  it('is at most a second old, and read again meanwhile from half a second on', async () => {
    const { reads, begun, pass } = sharedReads();
    const first = reads.recent('a');
    begun[0]!.answer(1);
    expect(await first).toBe(1);
    pass(500);
    expect(await reads.recent('a')).toBe(1);
    expect(begun).toHaveLength(1);
    pass(1);
    expect(await reads.recent('a')).toBe(1);
    expect(begun).toHaveLength(2);
    begun[1]!.fail(new Error('away'));
    await new Promise((resolve) => setImmediate(resolve));
    pass(499);
    expect(await reads.recent('a')).toBe(1);
    pass(1);
    const late = reads.recent('a');
    begun[2]!.answer(3); // The refresh that ran is young enough.
    expect(await late).toBe(3);
    expect(begun).toHaveLength(3);
  });

  it('is of one read for all callers who find none, and if that fails, of two more', async () => {
    const { reads, begun, next } = sharedReads();
    const callers = Promise.allSettled(MANY.map(() => reads.recent('a')));
    begun[0]!.fail(new Error('away'));
    (await next(1)).answer(1);
    (await next(2)).answer(2);
    const values = (await callers).map((of) => (of.status === 'fulfilled' ? of.value : undefined));
    expect(values).toEqual([undefined, 1, ...MANY.slice(2).map(() => 2)]);
    expect(begun).toHaveLength(3);
  });

  it('is refreshed by one of many callers', async () => {
    const { reads, begun, pass } = sharedReads();
    const first = reads.recent('a');
    begun[0]!.answer(1);
    await first;
    pass(600);
    expect(await Promise.all(MANY.map(() => reads.recent('a')))).toEqual(MANY.map(() => 1));
    begun[1]!.answer(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await reads.recent('a')).toBe(2);
    expect(begun).toHaveLength(2);
  });

  it('is read now if it is not enough, and the reader learns what it was before', async () => {
    const { reads, begun, seen, next } = sharedReads();
    const first = reads.recent('a');
    begun[0]!.answer(1);
    await first;
    const more = reads.recent('a', (value) => value >= 2);
    (await next(1)).answer(2);
    expect(await more).toBe(2);
    expect(await reads.recent('a', (value) => value >= 2)).toBe(2);
    expect(seen).toEqual([
      [1, undefined],
      [2, 1],
    ]);
    expect(begun).toHaveLength(2);
  });
});
