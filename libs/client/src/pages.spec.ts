import { describe, expect, it } from '@jest/globals';
import { itemsOf, ProblemError } from './index.ts';

interface Page {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** Pages by their cursor, and the cursors requested. */
function pages(of: Record<string, Page>): {
  fetchPage: (query: { cursor?: string }) => Promise<Page>;
  asked: string[];
} {
  const asked: string[] = [];
  const fetchPage = ({ cursor = 'first' }: { cursor?: string }): Promise<Page> => {
    asked.push(cursor);
    return Promise.resolve(of[cursor]!);
  };
  return { fetchPage, asked };
}

const page = (data: unknown, headers: Record<string, string> = {}): Page => ({
  data,
  response: new Response(null, { headers }),
});

async function all(fetchPage: (query: { cursor?: string }) => Promise<Page>): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of itemsOf(fetchPage)) items.push(item);
  return items;
}

describe('the items of a list', () => {
  it.each([
    [
      'partner envelopes',
      { items: [1, 2], pagination: { nextCursor: 'b' } },
      { items: [3], pagination: { nextCursor: null } },
    ],
    ['admin lists', { items: [1, 2], nextCursor: 'b' }, { items: [3], nextCursor: null }],
    ['assets', { assets: [1, 2], count: 2, nextCursor: 'b' }, { assets: [3], count: 1, nextCursor: null }],
  ])('include all pages, in order: %s', async (_, first, second) => {
    const { fetchPage, asked } = pages({ first: page(first), b: page(second) });
    expect(await all(fetchPage)).toEqual([1, 2, 3]);
    expect(asked).toEqual(['first', 'b']);
  });

  it('include all pages of an array with a Link', async () => {
    const link = '</api/risks?limit=2&cursor=b%2Fc>; rel="next"';
    const { fetchPage, asked } = pages({ first: page([1, 2], { link }), 'b/c': page([3]) });
    expect(await all(fetchPage)).toEqual([1, 2, 3]);
    expect(asked).toEqual(['first', 'b/c']);
  });

  it('are fetched lazily', async () => {
    const { fetchPage, asked } = pages({ first: page({ items: [1, 2], nextCursor: 'b' }) });
    for await (const item of itemsOf(fetchPage)) if (item === 2) break;
    expect(asked).toEqual(['first']);
  });

  it('continue after an empty page', async () => {
    const { fetchPage } = pages({
      first: page({ items: [], nextCursor: 'b' }),
      b: page({ items: [1], nextCursor: null }),
    });
    expect(await all(fetchPage)).toEqual([1]);
  });

  it('end with the problem of a refused page, after the items before it', async () => {
    const problem = { type: 'urn:sealgate:problem:invalid-cursor', title: 'Bad', status: 400, code: 'INVALID_CURSOR' };
    const refused = { error: problem, response: new Response(null, { status: 400 }) };
    const { fetchPage } = pages({ first: page({ items: [1], nextCursor: 'b' }), b: refused });
    const read: unknown[] = [];
    const reading = (async () => {
      for await (const item of itemsOf(fetchPage)) read.push(item);
    })();
    await expect(reading).rejects.toThrow(ProblemError);
    await expect(reading).rejects.toMatchObject({ problem });
    expect(read).toEqual([1]);
  });

  it('do not loop if a service returns the same cursor again', async () => {
    const { fetchPage } = pages({
      first: page({ items: [1], nextCursor: 'b' }),
      b: page({ items: [2], nextCursor: 'b' }),
    });
    await expect(all(fetchPage)).rejects.toThrow('returned the cursor of the same page');
  });
});
