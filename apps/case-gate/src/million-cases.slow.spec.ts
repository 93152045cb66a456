import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ListPosition } from '@sealgate/paging';
import type { Database } from '@sealgate/storage';
import { caseList, countCases } from './data/case-reads.ts';
import { emptyGate, expectBounded } from './testing/explained.ts';
import { fillCases, LARGE } from './testing/million-rows.ts';

const ROWS = Number(process.env['SEALGATE_ROWS'] ?? 1_000_000);
/** For a page and its total, however many rows there are. */
const MOST_ROWS = 25_000;
/** Cases are made one a second: those of a day are read to find the ones in a part of it. */
const ROWS_OF_A_DAY = 86_400;

let gate: Awaited<ReturnType<typeof emptyGate>>;
beforeAll(async () => {
  gate = await emptyGate();
  await fillCases(gate.sql, ROWS);
}, 200000);
afterAll(() => gate.stop());

const explained = (name: string, work: Parameters<typeof expectBounded>[2], mostRows = MOST_ROWS): Promise<void> =>
  expectBounded(gate.sql, { name, mostRows }, work);

const SMALL = 'small_7';

describe('cases at a million rows', () => {
  it.each([
    ['all', {}],
    ['of a common state', { status: 'sealed' }],
    ['of a rare state', { status: 'withdrawn' }],
    ['of a state of one in a thousand', { status: 'in_review' }],
    ['of no subject', { subject_ref: 'subj_none' }],
    ['of a small environment', { environment: SMALL }],
    ['of an old day', { created_to: new Date('2030-01-02') }],
    ['of a state in an old day', { created_to: new Date('2030-01-02'), status: 'sealed' }],
    [
      'of parts of two days',
      { created_from: new Date('2030-01-01T06:00Z'), created_to: new Date('2030-01-02T05:00Z') },
    ],
    ['of a time to come', { created_from: new Date('2040-01-01') }],
  ])('cases: %s', async (name, filter) => {
    const mostRows = name.endsWith('of two days') ? MOST_ROWS + 2 * ROWS_OF_A_DAY : MOST_ROWS;
    for (const field of ['created_at', 'updated_at'] as const) {
      for (const descending of [true, false]) {
        const work = async (noting: Database) => {
          const list = caseList(noting);
          const wanted = { environment: LARGE, ...filter } as never;
          const counted = await list.count(wanted);
          const page = { ...(wanted as object), sorting: { field, descending }, counted, limit: 51 } as never;
          const found = await list.rows({ ...(page as object), after: undefined } as never);
          const after: ListPosition | undefined = found[25]?.position;
          if (after !== undefined) await list.rows({ ...(page as object), after } as never);
        };
        await explained(`cases ${name}, ${descending ? '-' : ''}${field}`, work, mostRows);
      }
    }
  });

  it('case counts', async () => {
    await explained('case counts', (noting) => countCases(noting, LARGE));
    const counts = await countCases(gate.sql, LARGE);
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(ROWS);
  });
});
