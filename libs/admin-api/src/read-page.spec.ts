import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { cursorCodec } from '@sealgate/paging';
import { testClock } from '@sealgate/testing';
import { readPage } from './admin-app.ts';

const hasher = ServerSecrets.parse(`a:${'s'.repeat(32)}`).derive('read-page tests');
const cursors = cursorCodec({ hasher, now: testClock().now });
const show = { item: (row: number) => ({ row }), position: (row: number) => row };

/** Rows 1, 2, 3 ... as a store returns them: one more than the page may hold. */
const rowsAfter = (after: number, limit: number, last: number) =>
  Array.from({ length: Math.min(limit + 1, last - after) }, (_, i) => after + i + 1);

describe('readPage', () => {
  it('has fifty items by default', () => {
    expect(readPage({}, cursors, ['things'])).toMatchObject({ limit: 50, after: undefined });
    expect(readPage({ limit: '200' }, cursors, ['things']).limit).toBe(200);
    expect(() => readPage({ limit: '201' }, cursors, ['things'])).toThrow(
      expect.objectContaining({ code: 'INVALID_LIMIT' }),
    );
  });

  it('reads a list to its end, where nextCursor is null', () => {
    const seen: object[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page = readPage({ limit: '2', ...(cursor !== null && { cursor }) }, cursors, ['things']);
      const after = Number(page.after ?? 0);
      const answer = page.answer(rowsAfter(after, page.limit, 4), show);
      seen.push(...answer.items);
      cursor = answer.nextCursor;
      pages += 1;
    } while (cursor !== null);
    expect(seen).toEqual([{ row: 1 }, { row: 2 }, { row: 3 }, { row: 4 }]);
    expect(pages).toBe(2);
    expect(readPage({}, cursors, ['things']).answer([], show)).toEqual({ items: [], nextCursor: null });
  });

  it('refuses a cursor of another list or other filters', () => {
    const page = readPage({ limit: '1' }, cursors, ['things', 'open']);
    const cursor = page.answer([1, 2], show).nextCursor ?? '';
    expect(readPage({ cursor }, cursors, ['things', 'open']).after).toBe(1);
    for (const binding of [['things'], ['things', 'closed']]) {
      expect(() => readPage({ cursor }, cursors, binding)).toThrow(expect.objectContaining({ code: 'INVALID_CURSOR' }));
    }
  });
});
