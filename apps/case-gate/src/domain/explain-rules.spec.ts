import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '@sealgate/json';
import type { DecisionOutcome } from './case-record.ts';
import { evaluateRules, explainRules } from './policy-rules.ts';
import type { PolicyRules } from './policy.ts';
import { rulesOf, tryPolicy, type DecidedCase } from './manage-policies.ts';

const facts = {
  case_type: 'onboarding',
  venue_ids: ['hall'],
  metadata: { risk: 'low', score: '3' },
  attachment_count: 1,
  attachment_kinds: ['vault_ref'],
  attachment_labels: ['passport'],
};
const fact = (name: string): JsonValue => ({ var: name });
const rule = (when: JsonValue, decision: DecisionOutcome, code: string) => ({ when, decision, reason_codes: [code] });
const policyOf = (...rules: PolicyRules['rules']): PolicyRules => ({
  rules,
  default: { decision: 'decline', reason_codes: ['DEFAULT'] },
});

const HOLDS = { '==': [fact('metadata.risk'), 'low'] };
const FAILS = { '==': [fact('metadata.risk'), 'high'] };
const MISSES = { '==': [fact('metadata.country'), fact('metadata.home')] };
const MISTYPED = { '<': [fact('metadata.risk'), 3] };

describe('the explanation of a ruling', () => {
  it('covers each rule, also those after the one that decides', () => {
    const policy = policyOf(rule(FAILS, 'decline', 'A'), rule(HOLDS, 'approve', 'B'), rule(MISSES, 'approve', 'C'));
    expect(explainRules(policy, facts)).toEqual({
      ruling: { decision: 'approve', reason_codes: ['B'] },
      results: [
        { says: 'does_not_hold', missing: [] },
        { says: 'holds', missing: [] },
        { says: 'cannot_tell', missing: ['metadata.country', 'metadata.home'] },
      ],
      deciding: 1,
      isUncertain: false,
    });
  });

  it('covers the default, and an approve that became a refer', () => {
    expect(explainRules(policyOf(rule(FAILS, 'approve', 'A')), facts)).toMatchObject({
      ruling: { decision: 'decline', reason_codes: ['DEFAULT'] },
      deciding: undefined,
      isUncertain: false,
    });
    for (const unsure of [MISSES, MISTYPED]) {
      const policy = policyOf(rule(unsure, 'approve', 'A'), rule(HOLDS, 'approve', 'B'));
      expect(explainRules(policy, facts)).toMatchObject({
        ruling: { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] },
        results: [{ says: 'cannot_tell' }, { says: 'holds' }],
        deciding: 1,
        isUncertain: true,
      });
    }
  });

  it('agrees with the ruling, whatever the rules', () => {
    const condition = fc.constantFrom<JsonValue>(
      HOLDS,
      FAILS,
      MISSES,
      MISTYPED,
      true,
      false,
      { '!': [MISSES] },
      {
        missing: ['metadata.country'],
      },
    );
    const outcome = fc.constantFrom<DecisionOutcome>('approve', 'decline', 'refer');
    const policies = fc
      .tuple(fc.array(fc.tuple(condition, outcome), { maxLength: 6 }), outcome)
      .map(([rules, otherwise]) => ({
        rules: rules.map(([when, decision], index) => rule(when, decision, `R${index}`)),
        default: { decision: otherwise, reason_codes: ['DEFAULT'] },
      }));
    fc.assert(
      fc.property(policies, (policy) => {
        const { ruling, results, deciding, isUncertain } = explainRules(policy, facts);
        expect(ruling).toEqual(evaluateRules(policy, facts));
        expect(results).toHaveLength(policy.rules.length);
        const chosen = deciding === undefined ? policy.default : policy.rules[deciding]!;
        if (chosen.decision !== 'approve' || !isUncertain) expect(ruling.reason_codes).toEqual(chosen.reason_codes);
        else expect(ruling.decision).toBe('refer');
        if (deciding !== undefined) {
          expect(results[deciding]!.says).toBe('holds');
          expect(results.slice(0, deciding).some(({ says }) => says === 'holds')).toBe(false);
        }
      }),
    );
  });
});

describe('a trial of a policy', () => {
  const decided = (caseId: string, decision: 'approve' | 'decline', risk: string): DecidedCase => ({
    case_id: caseId,
    subject_ref: `subj_${caseId}`,
    policy_version: 'v1',
    decided_at: new Date(0).toISOString(),
    was: { decision, reason_codes: [] },
    facts: { ...facts, metadata: { risk } },
  });

  it('reports changed decisions, and yields to the event loop for each case', async () => {
    let turns = 0;
    const asked: unknown[] = [];
    const ports = {
      nextTurn: () => Promise.resolve(void (turns += 1)),
      lastDecided: (...of: unknown[]) => {
        asked.push(of);
        return Promise.resolve([
          decided('a', 'approve', 'low'),
          decided('b', 'approve', 'high'),
          decided('c', 'decline', ''),
        ]);
      },
    };
    const rules = policyOf(rule(HOLDS, 'approve', 'A'));
    const tried = await tryPolicy(ports, { environment: 'live', rules, limit: 3 });
    expect(
      tried.map(({ case_id, changes, wouldBe, results }) => [case_id, changes, wouldBe.decision, results[0]!.says]),
    ).toEqual([
      ['a', false, 'approve', 'holds'],
      ['b', true, 'decline', 'does_not_hold'],
      ['c', false, 'decline', 'does_not_hold'],
    ]);
    expect([turns, asked]).toEqual([3, [['live', 3]]]);
  });

  it('needs a version with rules', () => {
    const unknown = expect.objectContaining({ code: 'UNKNOWN_POLICY_VERSION' });
    expect(() => rulesOf(undefined)).toThrow(unknown);
    expect(() => rulesOf({ rules: null })).toThrow(unknown);
    expect(rulesOf({ rules: JSON.stringify(policyOf()) })).toEqual(policyOf());
  });
});
