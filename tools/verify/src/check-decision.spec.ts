import { describe, expect, it } from '@jest/globals';
import { DECISION_HEAD_TYPE, decisionHash } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { checkDecision, readDecisionFile } from './check-decision.ts';
import { headsOf, linesOf, saved } from './testing/sample-decisions.ts';
import { sampleLog } from './testing/sample-log.ts';

const lines = linesOf('p1', 9);
const [, second] = headsOf(lines, [4, 9]);
const {
  headLines: [head],
  input: { verifier },
} = await saved(lines, [second!]);

/** The proof of decision 6 of 9, of which a head covers 5 to 9. */
const served = { decision: lines[5]!, prev_hash: lines[4]!.hash, following: lines.slice(6), ...head! };

function failedOf(changes: object, by = verifier): string[] {
  const value = JSON.parse(JSON.stringify({ ...served, ...changes })) as JsonValue;
  const { steps } = checkDecision({ file: readDecisionFile('proof.json', value), verifier: by });
  return [...new Set(steps.filter(({ status }) => status === 'failed').map(({ step }) => step))];
}

describe('a decision with its proof', () => {
  it('verifies as the gate serves it, also the last one before the head', () => {
    expect(failedOf({})).toEqual([]);
    expect(failedOf({ decision: lines[8], prev_hash: lines[7]!.hash, following: [] })).toEqual([]);
  });

  it('fails at the chain if any decision of it was changed, or another one is put before it', () => {
    expect(failedOf({ decision: { ...served.decision, decision: 'allow' } })).toEqual(['chain']);
    expect(failedOf({ following: served.following.map((line) => ({ ...line, venue_id: 'x' })) })).toEqual(['chain']);
    expect(failedOf({ prev_hash: null })).toEqual(['chain']);
  });

  it('fails if decisions are missing, or another process made them', () => {
    expect(failedOf({ following: served.following.slice(1) })).toEqual(['place', 'chain']);
    expect(failedOf({ following: served.following.slice(0, -1) })).toEqual(['place', 'chain']);
    expect(failedOf({ decision: { ...served.decision, process: 'p2' } })).toEqual(['place', 'chain']);
  });

  it('fails with a head that was changed with it, another record, or by another signer', () => {
    const forged = { ...served.decision, decision: 'allow' as const };
    const hash = [forged, ...served.following].reduce<string | null>(
      (before, line) => decisionHash(line, before),
      served.prev_hash,
    );
    const record = { ...head!.record, data: { ...second!, hash } };
    expect(failedOf({ decision: forged, record })).toEqual(['content']);
    const { type } = head!.receipt;
    expect(type).toBe(DECISION_HEAD_TYPE);
    expect(failedOf({ receipt: { ...head!.receipt, type: 'case.seal' } })).toEqual(['agreement', 'leaf', 'head']);
    expect(failedOf({}, sampleLog(1).verifier)).toContain('signature');
  });
});
