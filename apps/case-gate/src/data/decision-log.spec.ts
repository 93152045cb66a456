import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Log } from '@sealgate/observability';
import type { Sql, Statement } from '@sealgate/storage';
import type { GateDecision } from '../domain/check-entry.ts';
import { decisionLog } from './decision-log.ts';

function opened(mostWaiting = 5000) {
  const written: Statement[] = [];
  let isAway = false;
  // Stands in for the database, so that it can be away.
  const sql: Sql = {
    query: async (statement) => {
      if (isAway) throw new Error('away');
      written.push(statement);
      return [];
    },
  };
  const lines: [string, unknown][] = [];
  const line = (event: string, fields: unknown) => void lines.push([event, fields]);
  const log = { error: line, warn: line, info: line, debug: line } as unknown as Log;
  const decisions = decisionLog({ sql, process: 'p1', log, mostWaiting, everyMs: 5 });
  const add = (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const next = decisions.nextDecision();
      decisions.record(decisionOf(next), { keyId: 'key_1', requestId: 'r' });
    }
  };
  const seqs = () => written.flatMap(({ values }) => int8sOf(values?.[2] as Buffer));
  const looksFirst = () => written.map(({ text }) => text.includes('ON CONFLICT DO NOTHING'));
  return { decisions, add, seqs, looksFirst, lines, setAway: (away: boolean) => void (isAway = away) };
}

/** Of a `bigint[]` parameter: the count is at 12, and from 20 on each element has four bytes of length before its eight. */
function int8sOf(array: Buffer): number[] {
  return Array.from({ length: array.readInt32BE(12) }, (_, index) => Number(array.readBigInt64BE(24 + index * 12)));
}

function decisionOf({ decisionId, seq }: { decisionId: string; seq: number }): GateDecision {
  return {
    decisionId,
    seq,
    entry: { environment: 'live', subjectRef: 'subj_a', venueId: 'hall', action: 'enter', policyVersion: undefined },
    allow: false,
    reason: 'SUBJECT_UNKNOWN',
    failClosed: false,
    policyVersion: null,
    ledgerRecordId: null,
    recordVersion: null,
    evaluatedAt: new Date(0),
    validUntil: null,
  };
}

describe('the log of decisions', () => {
  it('numbers without a gap, and writes each once, in order', async () => {
    const { decisions, add, seqs } = opened();
    add(2500);
    await decisions.flush();
    expect(seqs()).toEqual(Array.from({ length: 2500 }, (_, index) => index + 1));
    expect(decisions.waiting).toBe(0);
    expect(decisions.nextDecision()).toEqual({ seq: 2501, decisionId: 'gd_p1_0000002501' });
  });

  it('tries again what could not be written, without a word to who decides', async () => {
    const { decisions, add, seqs, looksFirst, lines, setAway } = opened();
    setAway(true);
    expect(() => add(3)).not.toThrow();
    await until(() => lines.length > 0);
    expect(lines[0]).toEqual(['decisions_not_written', { waiting: 3, reason: 'Error: away' }]);
    setAway(false);
    await decisions.flush();
    expect(seqs()).toEqual([1, 2, 3]);
    // What is sent again may be there: its answer was lost.
    add(1);
    await decisions.flush();
    expect(looksFirst()).toEqual([true, false]);
  });

  it('drops the oldest where too many wait, and names them', async () => {
    const { decisions, add, seqs, lines, setAway } = opened(2000);
    setAway(true);
    add(2001);
    expect(lines).toContainEqual(['decisions_dropped', { process: 'p1', first: 1, last: 1000 }]);
    setAway(false);
    await decisions.flush();
    expect(seqs()).toEqual(Array.from({ length: 1001 }, (_, index) => index + 1001));
  });
});
