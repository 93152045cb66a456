import { describe, expect, it } from '@jest/globals';
import { allPages, exportText, SHOWN_ROWS, STEP_ROWS } from './export-text.ts';

const all = Array.from({ length: 1001 }, (_none, at) => ({ id: at, score: { level: 'low' }, note: null }));
const read = async ({ limit, after = -1 }: { limit: number; after: number | undefined }) =>
  all.slice(after + 1, after + 1 + limit);

async function joined(chunks: AsyncIterable<string>): Promise<string[]> {
  const read: string[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return read;
}

describe('an export', () => {
  it('reads every row once, in steps', async () => {
    const [sizes, ids, limits]: number[][] = [[], [], []];
    const counting: typeof read = (page) => (limits!.push(page.limit), read(page));
    for await (const rows of allPages(counting, ({ id }) => id)) {
      sizes!.push(rows.length);
      ids!.push(...rows.map(({ id }) => id));
    }
    expect(limits).toEqual([STEP_ROWS, STEP_ROWS, STEP_ROWS]);
    expect(sizes).toEqual([...Array<number>(10).fill(SHOWN_ROWS), 1]);
    expect(ids).toEqual(all.map(({ id }) => id));
  });

  it('is CSV with a header, members of members by their path', async () => {
    const pages = (async function* () {
      yield all.slice(0, 2);
    })();
    const chunks = await joined(exportText(pages, { format: 'csv', columns: ['id', 'score.level', 'note', 'none.x'] }));
    expect(chunks.join('')).toBe('id,score.level,note,none.x\r\n0,low,,\r\n1,low,,\r\n');
  });

  it('is a header alone for a list without rows', async () => {
    const pages = allPages(
      async () => [],
      () => 0,
    );
    expect(await joined(exportText(pages, { format: 'csv', columns: ['id'] }))).toEqual(['id\r\n']);
  });

  it('is JSON Lines', async () => {
    const pages = (async function* () {
      yield all.slice(0, 1);
    })();
    const chunks = await joined(exportText(pages, { format: 'jsonl', columns: [] }));
    expect(chunks.join('')).toBe('{"id":0,"score":{"level":"low"},"note":null}\n');
  });
});
