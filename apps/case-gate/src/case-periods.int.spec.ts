import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ListPosition } from '@sealgate/paging';
import { caseList, type CaseFilter } from './data/case-reads.ts';
import { emptyGate } from './testing/explained.ts';
import { fillCases, LARGE } from './testing/million-rows.ts';

let gate: Awaited<ReturnType<typeof emptyGate>>;
beforeAll(async () => {
  gate = await emptyGate();
  await fillCases(gate.sql, 3000);
  // Two more days of them.
  await gate.sql.query({
    text: `UPDATE gate.cases SET created_at = created_at + ascii(md5(case_id)) % 3 * interval '1 day'`,
  });
}, 120_000);
afterAll(() => gate.stop());

interface Stored {
  readonly case_id: string;
  readonly status: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const PERIODS: readonly Partial<CaseFilter>[] = [
  { created_from: new Date('2030-01-01T00:20:00Z') },
  { created_to: new Date('2030-01-03T00:00:00Z') },
  { created_from: new Date('2030-01-01T00:10:00Z'), created_to: new Date('2030-01-02T00:30:00Z') },
  { created_from: new Date('2030-01-02T00:00:00Z'), created_to: new Date('2030-01-03T00:00:00Z'), status: 'sealed' },
  { created_from: new Date('2040-01-01T00:00:00Z') },
  { open: 'true' },
  { open: 'false', created_from: new Date('2030-01-01T00:20:00Z') },
];

it.each(
  PERIODS.flatMap((period) => [true, false].map((descending) => [JSON.stringify(period), period, descending] as const)),
)(
  'cases of the period %s are in the order of their last change, however many there are',
  async (_name, period, descending) => {
    const all = await gate.sql.query<Stored>({
      text: 'SELECT case_id, status, created_at, updated_at FROM gate.cases WHERE environment = $1',
      values: [LARGE],
    });
    const { created_from: from, created_to: to, status, open } = period;
    const isOpen = (row: Stored) => ['received', 'in_review'].includes(row.status);
    const wanted = all
      .filter((row) => (from === undefined || row.created_at >= from) && (to === undefined || row.created_at < to))
      .filter((row) => status === undefined || row.status === status)
      .filter((row) => open === undefined || (open === 'true') === isOpen(row))
      .toSorted(
        (one, other) => Number(one.updated_at) - Number(other.updated_at) || (one.case_id < other.case_id ? -1 : 1),
      )
      .map((row) => row.case_id);
    const list = caseList(gate.sql);
    const found: string[] = [];
    let after: ListPosition | undefined;
    for (;;) {
      // Without a count there are taken to be too many to find all.
      const page = { ...period, environment: LARGE, limit: 100, after };
      const rows = await list.rows({ ...page, sorting: { field: 'updated_at', descending } } as never);
      found.push(...rows.map(({ row }) => row.case_id));
      after = rows.at(-1)?.position;
      if (rows.length < 100) break;
    }
    expect(found).toEqual(descending ? wanted.toReversed() : wanted);
  },
);
