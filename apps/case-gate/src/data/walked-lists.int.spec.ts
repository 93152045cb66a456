import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sortingOf, type TableList } from '@sealgate/paging';
import { type Database, type Sql, type Statement } from '@sealgate/storage';
import { scansOf } from '@sealgate/testing';
import { emptyGate } from '../testing/explained.ts';
import { caseList } from './case-reads.ts';
import { decisionsStore } from './decisions-store.ts';
import { subjectList } from './eligibility-store.ts';

let gate: Awaited<ReturnType<typeof emptyGate>>;
let sql: Database;
beforeAll(async () => {
  gate = await emptyGate();
  ({ sql } = gate);
  for (const text of ROWS) await sql.query({ text });
}, 60_000);
afterAll(() => gate.stop());

const NUMBERS = `generate_series(1, 3000) n, LATERAL (SELECT timestamptz '2026-03-01' + n * interval '1 hour' AS at) m`;
const ROWS = [
  `INSERT INTO gate.cases (case_id, environment, subject_ref, case_type, status, venue_ids, metadata, created_at, updated_at,
     expires_at, mac)
   SELECT n, 'live', 's', 'onboarding', (ARRAY['received', 'sealed'])[1 + n % 2], '{}', '{}', at, at, at, '' FROM ${NUMBERS}`,
  `INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac)
   SELECT 'live', n, 1, (ARRAY['pending', 'eligible'])[1 + n % 2], '{}', at, '' FROM ${NUMBERS}`,
  `INSERT INTO gate.gate_decisions (decision_id, process, seq, environment, key_id, request_id, action, decision, reason_code,
     fail_closed, evaluated_at)
   SELECT n, 'p', n, 'live', 'k', 'r', 'enter', 'deny', 'x', false, at FROM ${NUMBERS}`,
  'ANALYZE gate.cases, gate.eligibility, gate.gate_decisions',
];

/** The statements that a list makes, which are not executed. */
function noting() {
  const asked: Statement[] = [];
  const query: Sql['query'] = (statement) => {
    asked.push(statement);
    return Promise.resolve([]);
  };
  return { asked, sql: { query } as Database };
}

const LISTS = {
  cases: caseList,
  subjects: (at: Database) => subjectList(at, undefined as never),
  decisions: (at: Database) => decisionsStore(at).list,
};
const FROM = new Date('2026-04-01T00:00:00Z');

it.each([
  ['cases', {}, 'created_at', 'cases_by_age'],
  ['cases', {}, '-updated_at', 'cases_by_change'],
  ['cases', { status: 'sealed' }, '-created_at', 'cases_by_status'],
  ['cases', { status: 'sealed' }, 'updated_at', 'cases_by_status_and_change'],
  ['cases', { created_from: FROM }, 'created_at', 'cases_by_age'],
  ['subjects', {}, '-subject_ref', 'eligibility_pkey'],
  ['subjects', {}, 'changed_at', 'eligibility_by_change'],
  ['subjects', { status: 'eligible' }, 'subject_ref', 'eligibility_by_status'],
  ['decisions', { to: FROM }, '-evaluated_at', 'gate_decisions_by_environment'],
] as const)(
  'a page of few %s, %j in the order %s, walks the index of the order alone',
  async (name, filter, sort, index) => {
    const { asked, sql: at } = noting();
    const list = LISTS[name](at) as TableList<{ readonly environment: string }, unknown, string>;
    await list.rows({
      environment: 'live',
      ...filter,
      sorting: sortingOf(sort),
      counted: 900,
      limit: 51,
      after: undefined,
    });
    expect(asked).toHaveLength(1);
    expect(await scansOf(sql, asked[0]!)).toEqual({ whole: [], indexes: [index] });
  },
);
