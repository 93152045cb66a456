import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import fc from 'fast-check';
import { TileCache, type KeptBytes } from './tile-cache.ts';

const OVERHEAD = 512;
const kept = (bytes: number, width = 256): KeptBytes => ({ bytes: Buffer.alloc(bytes), width, archived: 0 });
const wide = (width: number) => (of: KeptBytes) => of.width >= width;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A cache, and the reads that it began. */
function openCache(maxBytes = 100_000, waitWithinMs = 10_000) {
  let nowMs = 0;
  const cache = new TileCache({ now: () => nowMs, maxBytes, waitWithinMs });
  const begun: { key: string; answer: (value: KeptBytes) => void; fail: (error: Error) => void }[] = [];
  const get = (key: string, width = 256, weight = 1) =>
    cache.get(key, {
      isEnough: wide(width),
      weight,
      read: () => new Promise((answer, fail) => void begun.push({ key, answer, fail })),
    });
  return { cache, begun, get, pass: (ms: number) => (nowMs += ms) };
}

describe('tiles in memory', () => {
  it('are read once for concurrent callers, and then not at all', async () => {
    const { begun, get } = openCache();
    const callers = Array.from({ length: 40 }, () => get('a'));
    const tile = kept(1000);
    begun[0]!.answer(tile);
    const answers = await Promise.all(callers);
    for (const answer of [...answers, await get('a'), await get('a', 7)]) expect(answer.bytes).toBe(tile.bytes);
    expect(begun).toHaveLength(1);
  });

  it('are read again by a caller who wants more than was read for another', async () => {
    const { begun, get } = openCache();
    const narrow = get('a', 5);
    const wider = [get('a', 9), get('a', 9)];
    begun[0]!.answer(kept(160, 5));
    expect((await narrow).width).toBe(5);
    await turn();
    begun[1]!.answer(kept(288, 9));
    expect((await Promise.all(wider)).map(({ width }) => width)).toEqual([9, 9]);
    expect((await get('a', 5)).width).toBe(9);
    expect(begun).toHaveLength(2);
  });

  it('are not kept if they cannot be read: the next caller reads', async () => {
    const { cache, begun, get } = openCache();
    const callers = [get('a'), get('a')];
    begun[0]!.fail(new Error('away'));
    for (const caller of callers) await expect(caller).rejects.toThrow('away');
    expect(cache.bytes).toBe(0);
    void get('a');
    expect(begun).toHaveLength(2);
  });

  it('are read again after a minute', async () => {
    const { begun, get, pass } = openCache();
    const first = get('a');
    begun[0]!.answer(kept(1));
    await first;
    pass(59_999);
    await get('a');
    expect(begun).toHaveLength(1);
    pass(1);
    void get('a');
    expect(begun).toHaveLength(2);
  });

  it('are dropped when they are cleared, with what is being read then', async () => {
    const { cache, begun, get } = openCache();
    const before = get('a');
    cache.clear();
    begun[0]!.answer(kept(1));
    await before;
    expect(cache.bytes).toBe(0);
    void get('a');
    expect(begun).toHaveLength(2);
  });

  it('are dropped from the least recently used on, by what they take', async () => {
    const { cache, begun, get } = openCache(3 * (1000 + OVERHEAD));
    const fill = async (key: string, bytes = 1000, weight = 1) => {
      const reading = get(key, 256, weight);
      begun.at(-1)!.answer(kept(bytes));
      await reading;
    };
    for (const key of ['a', 'b', 'c']) await fill(key);
    expect(cache.bytes).toBe(3 * (1000 + OVERHEAD));
    await get('a');
    await fill('d');
    const isKept = (key: string) => cache.find(key, wide(256)) !== undefined;
    expect(['a', 'b', 'c', 'd'].map(isKept)).toEqual([true, false, true, true]);
    await fill('e', 500, 3); // With what is derived from it, it takes 1500 bytes.
    expect(cache.bytes).toBeLessThanOrEqual(3 * (1000 + OVERHEAD));
    await fill('large', 10_000);
    expect(cache.bytes).toBe(0);
  });

  it('take no more than the limit, whatever is read in which order', async () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 9 }), bytes: fc.integer({ min: 0, max: 6000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const cache = new TileCache({ now: () => 0, maxBytes: 10_000 });
        for (const { key, bytes } of steps) {
          const read = () => Promise.resolve(kept(bytes));
          await cache.get(String(key), { isEnough: () => true, read, weight: 1 });
          expect(cache.bytes).toBeLessThanOrEqual(10_000);
        }
        const found = Array.from({ length: 10 }, (_, key) => cache.find(String(key), () => true)).filter(Boolean);
        expect(cache.bytes).toBe(found.reduce((sum, of) => sum + of!.bytes.length + OVERHEAD, 0));
      }),
    );
  });

  it('are read two at a time, in order', async () => {
    const { begun, get } = openCache();
    const callers = ['a', 'b', 'c', 'd'].map((key) => get(key));
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
    begun[0]!.fail(new Error('away'));
    await expect(callers[0]).rejects.toThrow('away');
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    begun[1]!.answer(kept(1));
    begun[2]!.answer(kept(1));
    await turn();
    begun[3]!.answer(kept(1));
    expect((await Promise.all(callers.slice(1))).length).toBe(3);
    const more = get('e');
    begun[4]!.answer(kept(1));
    await more;
  });

  it('are refused to the caller who would wait behind 512 others, or for too long', async () => {
    const { begun, get } = openCache(100_000, 1);
    const running = [get('a'), get('b')];
    const waiting = Array.from({ length: 512 }, (_, n) => get(`w${n}`));
    const refused = Promise.allSettled(waiting);
    await expect(get('one too many')).rejects.toThrow(LedgerUnavailableError);
    for (const { status } of await refused) expect(status).toBe('rejected');
    for (const { answer } of begun.slice(0, 2)) answer(kept(1));
    await Promise.all(running);
    expect(begun).toHaveLength(2);
  });
});
