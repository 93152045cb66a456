import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { removalStatement, removalStep, removeInSteps, type Database } from '@sealgate/storage';
import { scansOf } from '@sealgate/testing';
import { emptyGate } from '../testing/explained.ts';
import { oldRows } from './background.ts';

let gate: Awaited<ReturnType<typeof emptyGate>>;
let sql: Database;
beforeAll(async () => {
  gate = await emptyGate();
  ({ sql } = gate);
}, 60_000);
afterAll(() => gate.stop());

const NOW = Date.UTC(2026, 5, 1);

it.each([
  [
    'claims',
    30,
    `INSERT INTO gate.claims (claim, fingerprint, body, created_at)
     SELECT decode(md5(n::text), 'hex'), '', '', $1::timestamptz - n * interval '1 hour' FROM generate_series(0, 2999) n`,
    'claims_by_age',
  ],
  [
    'counts',
    40,
    `INSERT INTO gate.decision_counts (environment, span, starts_at, venue_id, decision, shard, decisions)
     SELECT 'live', 'hour', $1::timestamptz - n * interval '1 hour', '', 'deny', 0, 1 FROM generate_series(0, 2999) n`,
    'decision_counts_by_age',
  ],
  [
    'decisions',
    100,
    `INSERT INTO gate.gate_decisions (decision_id, process, seq, environment, key_id, request_id, action, decision, reason_code,
       fail_closed, evaluated_at)
     SELECT n, 'p', n, 'live', 'k', 'r', 'enter', 'deny', 'x', false, $1::timestamptz - n * interval '1 hour'
       FROM generate_series(0, 2999) n`,
    'gate_decisions_by_age',
  ],
] as const)(
  '%s that are older than %d days are removed by their age, without reading all',
  async (name, days, insert, index) => {
    await sql.query({ text: insert, values: [new Date(NOW)] });
    await sql.query({ text: `ANALYZE ${oldRows(NOW, 100)[name].table}` });
    const removal = () => oldRows(NOW, 100)[name];
    expect(await scansOf(sql, removalStatement(removal(), 1000))).toEqual({ whole: [], indexes: [index] });
    // One row per hour: those of exactly the last hour stay.
    expect(await removeInSteps(removalStep(sql, removal))).toBe(2999 - days * 24);
  },
);
