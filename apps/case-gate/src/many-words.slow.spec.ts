import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { searchOf, type ListPosition } from '@sealgate/paging';
import { caseList } from './data/case-reads.ts';
import { emptyGate, expectBounded } from './testing/explained.ts';
import { fillCases, fillWords, LARGE } from './testing/million-rows.ts';

const ROWS = Number(process.env['SEALGATE_ROWS'] ?? 300_000);
/** For a page and its total; words that most rows have are counted in the first rows, wherever these are. Less than all. */
const MOST_ROWS = ROWS / 2;

let gate: Awaited<ReturnType<typeof emptyGate>>;
beforeAll(async () => {
  gate = await emptyGate();
  await fillCases(gate.sql, ROWS);
  await fillWords(gate.sql);
}, 230000);
afterAll(() => gate.stop());

const explained = (name: string, work: Parameters<typeof expectBounded>[2]): Promise<void> =>
  expectBounded(gate.sql, { name, mostRows: MOST_ROWS }, work);

const SMALL = 'small_7';

describe('words of cases at many rows', () => {
  it.each([
    ['by a word of one', { search: searchOf('order 277777') }],
    ['by the start of every id', { search: searchOf('case_') }],
    ['by two digits', { search: searchOf('7a') }],
    ['by one letter', { search: searchOf('e') }],
    ['by no word', { search: searchOf('nosuch') }],
    ['by words and a state', { search: searchOf('77'), status: 'in_review' }],
    ['of a small environment by a common word', { environment: SMALL, search: searchOf('order') }],
  ])('cases: %s', async (name, filter) => {
    for (const field of ['created_at', 'updated_at'] as const) {
      for (const descending of [true, false]) {
        await explained(`cases ${name}, ${descending ? '-' : ''}${field}`, async (noting) => {
          const list = caseList(noting);
          const wanted = { environment: LARGE, ...filter } as never;
          const counted = await list.count(wanted);
          const page = { ...(wanted as object), sorting: { field, descending }, counted, limit: 51 } as never;
          const found = await list.rows({ ...(page as object), after: undefined } as never);
          const after: ListPosition | undefined = found[25]?.position;
          if (after !== undefined) await list.rows({ ...(page as object), after } as never);
        });
      }
    }
  });
});
