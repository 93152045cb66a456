import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@sealgate/storage';
import { scansOf } from '@sealgate/testing';
import { emptyGate } from '../testing/explained.ts';
import { secretUses } from './remake-macs.ts';

let gate: Awaited<ReturnType<typeof emptyGate>>;
let sql: Database;
beforeAll(async () => {
  gate = await emptyGate();
  ({ sql } = gate);
  for (const text of ROWS) await sql.query({ text });
}, 60_000);
afterAll(() => gate.stop());

/** Three rows of a former secret before the current one, two of one after it, one without a secret, and many current ones. */
const NUMBERS = `generate_series(1, 3000) n, LATERAL (
  SELECT CASE WHEN n <= 3 THEN 'old:x' WHEN n <= 5 THEN 'past:x' WHEN n = 6 THEN '' ELSE 'one:x' END AS mac,
         timestamptz '2026-03-01' + n * interval '1 hour' AS at) m`;
const ROWS = [
  `INSERT INTO gate.cases (case_id, environment, subject_ref, case_type, status, venue_ids, metadata, created_at, updated_at,
     expires_at, mac)
   SELECT n, 'live', 's', 'onboarding', 'received', '{}', '{}', at, at, at, mac FROM ${NUMBERS}`,
  `INSERT INTO gate.decisions (decision_id, case_id, policy_version, is_final, decision, reason_codes, decided_at, decided_by, mac)
   SELECT n, n, 'p', true, 'approve', '{}', at, 'k', mac FROM ${NUMBERS}`,
  `INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac)
   SELECT 'live', n, 1, 'pending', '{}', at, mac FROM ${NUMBERS}`,
  `INSERT INTO gate.claims (claim, fingerprint, body, created_at)
   SELECT decode(md5(n::text), 'hex'), mac, '', at FROM ${NUMBERS}`,
  'ANALYZE gate.cases, gate.decisions, gate.eligibility, gate.claims',
];

it.each([
  ['subjects', 'eligibility_by_secret'],
  ['cases', 'cases_by_secret'],
  ['decisions', 'decisions_by_secret'],
  ['claims on Idempotency-Keys', 'claims_by_secret'],
])('%s of former secrets are counted without reading those of the current one', async (what, index) => {
  const { text } = secretUses.find((use) => use.what === what)! as { text: string };
  const values = ['one'];
  const found = await sql.query<{ secret_id: string; rows: string; last_at: Date | null }>({ text, values });
  const isKept = what.startsWith('claims');
  expect(found.toSorted((one, other) => Number(other.rows) - Number(one.rows))).toEqual([
    { secret_id: 'old', rows: '3', last_at: isKept ? new Date('2026-03-01T03:00:00Z') : null },
    { secret_id: 'past', rows: '2', last_at: isKept ? new Date('2026-03-01T05:00:00Z') : null },
  ]);
  expect(await scansOf(sql, { text, values })).toEqual({ whole: [], indexes: [index, index] });
});
