import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { decisionsStore } from './data/decisions-store.ts';
import { subjectList } from './data/eligibility-store.ts';
import { emptyGate, expectBounded } from './testing/explained.ts';
import { fillDecisions, fillSubjects, LARGE } from './testing/million-rows.ts';

const ROWS = Number(process.env['SEALGATE_ROWS'] ?? 1_000_000);
/** For a page and its total, however many rows there are. */
const MOST_ROWS = 25_000;
/** An index without an order is read for what few rows have, not for what most have. */
const MOST_ENTRIES = ROWS / 2;

let gate: Awaited<ReturnType<typeof emptyGate>>;
beforeAll(async () => {
  gate = await emptyGate();
  await fillDecisions(gate.sql, ROWS);
  await fillSubjects(gate.sql, ROWS);
}, 200000);
afterAll(() => gate.stop());

const explained = (name: string, work: Parameters<typeof expectBounded>[2]): Promise<void> =>
  expectBounded(gate.sql, { name, mostRows: MOST_ROWS, mostEntries: MOST_ENTRIES }, work);

const FIRST = { limit: 51, after: undefined };
const SMALL = 'small_7';

describe('subjects and decisions at a million rows', () => {
  it.each([
    ['all', {}],
    ['with a status', { status: 'eligible' }],
    ['with no status', { status: 'revoked' }],
  ])('subjects: %s', async (name, filter) => {
    const macs = ServerSecrets.parse(`s:${'x'.repeat(32)}`).derive('test');
    for (const field of ['subject_ref', 'changed_at'] as const) {
      await explained(`subjects ${name}, ${field}`, async (noting) => {
        const list = subjectList(noting, macs);
        const wanted = { environment: LARGE, ...filter };
        const counted = await list.count(wanted);
        await list.rows({ ...wanted, ...FIRST, sorting: { field, descending: false }, counted });
      });
    }
  });

  it.each([
    ['all', {}],
    ['at a venue', { venue_id: 'venue-7' }],
    ['at no venue', { venue_id: 'nowhere' }],
    ['for a common reason', { reason_code: 'INELIGIBLE' }],
    ['for a reason of one', { reason_code: 'INTERNAL_ERROR' }],
    ['for no reason', { reason_code: 'NOSUCH' }],
    ['denied', { decision: 'deny' as const }],
    ['allowed', { decision: 'allow' as const }],
    ['of a key', { key_id: 'key_none' }],
    ['of a subject', { subject_ref: 'subj_c4ca4238a0b923820dcc509a6f75849b' }],
    ['at a venue for a reason that it never had', { venue_id: 'venue-7', reason_code: 'INELIGIBLE' }],
    ['of a small environment for a reason', { environment: SMALL, reason_code: 'INELIGIBLE' }],
    ['before all', { to: new Date('2020-01-01') }],
    [
      'for a reason in a period',
      { reason_code: 'INELIGIBLE', from: new Date('2030-01-02'), to: new Date('2030-01-03') },
    ],
  ])('decisions: %s', async (name, filter) => {
    for (const descending of [true, false]) {
      await explained(`decisions ${name}${descending ? '' : ', oldest first'}`, async (noting) => {
        const { list } = decisionsStore(noting);
        const wanted = { environment: LARGE, ...filter };
        const counted = await list.count(wanted);
        await list.rows({ ...wanted, ...FIRST, sorting: { field: 'evaluated_at', descending }, counted });
      });
    }
  });
});
