import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { conditionOn, entriesOf, FACTS, formOf, rulesOf, TESTS, type Condition } from './rules-form.ts';

const DEFAULT = { decision: 'refer', reason_codes: [] as string[] };
const withWhen = (...whens: JsonValue[]) => ({
  rules: whens.map((when) => ({ when, decision: 'approve', reason_codes: ['COMPLETE'] })),
  default: DEFAULT,
});
const conditionsOf = (when: JsonValue) => formOf(withWhen(when))!.rules[0]!;
const count = { '>=': [{ var: 'attachment_count' }, 2] };

describe('the form of rules', () => {
  it.each<[JsonValue, Condition]>([
    [count, { fact: 'attachment_count', name: '', test: '>=', value: 2 }],
    [{ '==': [{ var: 'case_type' }, 'onboarding'] }, { fact: 'case_type', name: '', test: '==', value: 'onboarding' }],
    [
      { in: [{ var: 'metadata.risk' }, ['low', '']] },
      { fact: 'metadata', name: 'risk', test: 'in', value: ['low', ''] },
    ],
    [{ '!=': [{ var: 'metadata.a\\.b\\\\c' }, 'x'] }, { fact: 'metadata', name: 'a.b\\c', test: '!=', value: 'x' }],
    [{ missing: ['metadata.risk'] }, { fact: 'metadata', name: 'risk', test: 'missing', value: '' }],
    [{ in: ['hall', { var: 'venue_ids' }] }, { fact: 'venue_ids', name: '', test: 'has', value: 'hall' }],
    [
      { '!': { in: ['vault_ref', { var: 'attachment_kinds' }] } },
      { fact: 'attachment_kinds', name: '', test: 'has not', value: 'vault_ref' },
    ],
  ])('has fields for %j, and writes it again', (when, condition) => {
    expect(conditionsOf(when)).toMatchObject({ isList: false, conditions: [condition] });
    expect(rulesOf(formOf(withWhen(when))!)).toEqual(withWhen(when));
  });

  it.each<[JsonValue]>([
    [false],
    [{ '===': [{ var: 'case_type' }, 'a'] }],
    [{ '==': ['a', { var: 'case_type' }] }],
    [{ '==': [{ var: 'attachment_count' }, '2'] }],
    [{ '==': [{ var: ['case_type', 'none'] }, 'a'] }],
    [{ '<': [1, { var: 'attachment_count' }, 3] }],
    [{ '==': [{ var: 'metadata.a.b' }, 'x'] }],
    [{ '==': [{ var: 'metadata' }, 'x'] }],
    [{ in: [{ var: 'case_type' }, 'onboarding'] }],
    [{ missing: 'metadata.risk' }],
    [{ missing: ['metadata.a', 'metadata.b'] }],
    [{ '!': [{ in: ['hall', { var: 'venue_ids' }] }] }],
    [{ some: [{ var: 'venue_ids' }, { '==': [{ var: '' }, 'hall'] }] }],
    [{ and: [] }],
    [{ and: [count], or: [count] }],
  ])('keeps %j as it is', (when) => {
    expect(conditionsOf(when).conditions).toEqual([{ other: when }]);
    expect(rulesOf(formOf(withWhen(when))!)).toEqual(withWhen(when));
  });

  it.each<[JsonValue, object]>([
    [true, { conditions: [] }],
    [{ and: [count] }, { join: 'and', isList: true }],
    [{ or: [count, { '!!': count }] }, { join: 'or', isList: false, conditions: [{}, { other: { '!!': count } }] }],
    [{ and: [count, { or: [count, count] }] }, { join: 'and', conditions: [{}, { other: { or: [count, count] } }] }],
  ])('joins the conditions of %j', (when, rule) => {
    expect(conditionsOf(when)).toMatchObject(rule);
    expect(rulesOf(formOf(withWhen(when))!)).toEqual(withWhen(when));
  });

  it.each<[JsonValue]>([
    [null],
    [[]],
    [{ rules: [] }],
    [{ rules: {}, default: DEFAULT }],
    [{ ...withWhen(true), more: 1 }],
    [{ rules: [{ decision: 'approve', reason_codes: [] }], default: DEFAULT }],
    [{ rules: [{ when: true, decision: 'maybe', reason_codes: [] }], default: DEFAULT }],
    [{ rules: [{ when: true, decision: 'approve', reason_codes: [1] }], default: DEFAULT }],
    [{ rules: [{ when: true, decision: 'approve', reason_codes: [], note: 'x' }], default: DEFAULT }],
    [{ rules: [], default: { decision: 'approve' } }],
  ])('has no fields for %j', (value) => {
    expect(formOf(value)).toBeUndefined();
  });

  it('begins a condition on each fact with a test that the fact takes', () => {
    for (const { fact, of } of FACTS) {
      const condition = conditionOn(fact);
      expect(TESTS[of].map(({ test }) => test as string)).toContain(condition.test);
      const rule = { join: 'and' as const, isList: false, conditions: [condition], decision: 'refer' as const };
      const written = rulesOf({
        rules: [{ ...rule, reason_codes: [] }],
        otherwise: { decision: 'refer', reason_codes: [] },
      });
      expect(formOf(written)!.rules[0]!.conditions).toEqual([condition]);
    }
  });
});

it('the entries of a field are split where they were pasted with separators', () => {
  expect(entriesOf(['DE, FR,', 'DE', 'New York'], ',')).toEqual(['DE', 'FR', 'New York']);
  expect(entriesOf(['A B', ' C,D '], /[\s,]+/)).toEqual(['A', 'B', 'C', 'D']);
});
