import { describe, expect, it } from '@jest/globals';
import { canonicalHash, type JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import { decisionHash, type ChainedDecision } from './decision-chain.ts';

const decision: ChainedDecision = {
  action: 'enter',
  decision: 'deny',
  decision_id: 'gd_p1_0000000001',
  environment: 'live',
  evaluated_at: '2030-01-02T03:04:05.678Z',
  fail_closed: false,
  key_id: 'key_1',
  ledger_record_id: null,
  policy_version: null,
  process: 'p1',
  reason_codes: ['SUBJECT_UNKNOWN'],
  record_version: null,
  request_id: 'r',
  seq: 1,
  subject_ref: 'subj_a',
  venue_id: 'hall',
};

describe('the hash of a decision', () => {
  it('is SHA-256 over the RFC 8785 form', () => {
    // Written by hand, hashed by sha256sum.
    expect(decisionHash(decision, null)).toBe('7fe68eae0a098d97293c0e111b0c15cfd05a83f38e15f8ff320fbb863df50108');
  });

  it('covers the canonical form for any texts, and depends on the previous decision', () => {
    const text = fc.string({ unit: 'binary' }).filter((each) => each.isWellFormed());
    const law = fc.property(text, text, fc.maxSafeInteger(), (request, key, seq) => {
      const one = { ...decision, request_id: request, key_id: key, seq };
      const prevHash = 'ab'.repeat(32);
      expect(decisionHash(one, prevHash)).toBe(canonicalHash({ ...one, prev_hash: prevHash } as unknown as JsonValue));
      expect(decisionHash(one, null)).not.toBe(decisionHash(one, prevHash));
    });
    fc.assert(law, { numRuns: 30 });
  });
});
