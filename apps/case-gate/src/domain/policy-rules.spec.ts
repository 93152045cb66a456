import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '@sealgate/json';
import { LogicEngine } from 'json-logic-engine';
import { rulesText } from './manage-policies.ts';
import { evaluateRules } from './policy-rules.ts';
import type { PolicyRules } from './policy.ts';
import { ruleFaults } from './rule-faults.ts';

const facts = {
  case_type: 'onboarding',
  venue_ids: ['hall'],
  metadata: { risk: 'low', score: '3', empty: '' },
  attachment_count: 2,
  attachment_kinds: ['vault_ref', 'upload_handle'],
  attachment_labels: ['passport'],
};

/** Approves when the condition holds, else declines. */
const approveWhen = (when: JsonValue): PolicyRules => ({
  rules: [{ when, decision: 'approve', reason_codes: ['HELD'] }],
  default: { decision: 'decline', reason_codes: ['DEFAULT'] },
});
/** Declines when the condition holds, else approves. */
const declineWhen = (when: JsonValue): PolicyRules => ({
  rules: [{ when, decision: 'decline', reason_codes: ['HELD'] }],
  default: { decision: 'approve', reason_codes: ['DEFAULT'] },
});
const v = (name: string): JsonValue => ({ var: name });

describe('the rules of a policy', () => {
  it.each<[JsonValue, boolean]>([
    [true, true],
    [{ '==': [v('metadata.risk'), 'low'] }, true],
    [{ '===': [v('case_type'), 'onboarding'] }, true],
    [{ '!=': [v('metadata.risk'), 'high'] }, true],
    [{ '<': [v('metadata.score'), 5] }, true],
    [{ '<': [1, v('attachment_count'), 3] }, true],
    [{ '>=': [v('attachment_count'), 3] }, false],
    [{ in: ['passport', v('attachment_labels')] }, true],
    [{ some: [v('attachment_kinds'), { '==': [v(''), 'vault_ref'] }] }, true],
    [{ all: [v('attachment_kinds'), { '==': [v(''), 'vault_ref'] }] }, false],
    [{ none: [v('venue_ids'), { '==': [v(''), 'pier'] }] }, true],
    [{ and: [{ '==': [v('metadata.risk'), 'low'] }, { '!': [{ missing: ['metadata.score'] }] }] }, true],
    [{ or: [false, { '>': [v('attachment_count'), 1] }] }, true],
    [{ if: [{ '==': [v('metadata.risk'), 'low'] }, true, false] }, true],
    // A default counts as present.
    [{ '<': [{ var: ['metadata.unknown', 1] }, 5] }, true],
    [{ in: [v('attachment_count'), [1, 2]] }, true],
    [{ in: ['hall', { var: ['venue_ids'] }] }, true],
    [{ '!': [{ missing_some: [1, ['metadata.risk', 'metadata.unknown']] }] }, true],
    // Only `true` approves.
    [v('metadata.risk'), false],
    [{ if: [true, 'yes', false] }, false],
  ])('decide by %j', (when, holds) => {
    expect(ruleFaults(approveWhen(when))).toEqual([]);
    expect(evaluateRules(approveWhen(when), facts).decision).toBe(holds ? 'approve' : 'decline');
  });

  it('use the first that holds', () => {
    const rules: PolicyRules = {
      rules: [
        { when: false, decision: 'approve', reason_codes: ['A'] },
        { when: true, decision: 'decline', reason_codes: ['B'] },
        { when: true, decision: 'approve', reason_codes: ['C'] },
      ],
      default: { decision: 'approve', reason_codes: ['D'] },
    };
    expect(evaluateRules(rules, facts)).toEqual({ decision: 'decline', reason_codes: ['B'] });
  });

  it.each<[string, JsonValue]>([
    ['is missing', { '!=': [v('metadata.unknown'), 'high'] }],
    ['is missing, and would count as less', { '<': [v('metadata.unknown'), 5] }],
    ['is missing, and its absence is asked for', { '!': [v('metadata.unknown')] }],
    ['is no own member', { '!!': [v('metadata.constructor')] }],
    ['is no number', { '<': [v('metadata.empty'), 5] }],
    ['is no number either', { '<': [v('metadata.risk'), 5] }],
    ['is of another type', { '!=': [v('metadata.risk'), 5] }],
    ['is a list', { '<': [v('venue_ids'), 5] }],
    ['is of another type than the list', { in: [v('metadata.risk'), [1, 2]] }],
    ['is of another type than some of the list', { in: [v('metadata.risk'), ['low', 2]] }],
    ['is no list to be in', { in: ['low', v('attachment_count')] }],
    ['is a list in a list', { in: [v('venue_ids'), ['hall']] }],
  ])('never approve by a fact that %s', (_, when) => {
    expect(evaluateRules(approveWhen(when), facts).decision).toBe('decline');
    // Nor by passing over the rule that names it.
    const passed = { ...approveWhen(when), default: { decision: 'approve' as const, reason_codes: [] } };
    expect(evaluateRules(passed, facts)).toEqual({ decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] });
  });

  describe('made earlier, with a substring search,', () => {
    const country = (value: string) => ({ ...facts, metadata: { country: value } });
    const inText: JsonValue = { in: [v('metadata.country'), 'DE,FR,IT'] };
    const refer = { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] };

    it.each(['', 'DE', 'DE,F', ',', 'XX'])('approve nobody by it, country "%s"', (value) => {
      const otherwise = (decision: 'approve' | 'decline') => ({ decision, reason_codes: ['DEFAULT'] });
      for (const when of [inText, { '!': [inText] }, { and: [true, { or: [inText, true] }] }] as JsonValue[]) {
        expect(evaluateRules({ ...approveWhen(when), default: otherwise('decline') }, country(value))).toEqual(
          otherwise('decline'),
        );
        expect(evaluateRules({ ...approveWhen(when), default: otherwise('approve') }, country(value))).toEqual(refer);
      }
    });

    it.each([
      ['', refer],
      ['DE', refer],
      ['DE,F', refer],
      ['XX', { decision: 'decline', reason_codes: ['HELD'] }],
    ])('still decline, but approve nobody after such a rule, country "%s"', (value, ruling) => {
      expect(evaluateRules(declineWhen({ '!': [inText] }), country(value))).toEqual(ruling);
    });

    it('decide as before if the text was not searched', () => {
      expect(evaluateRules(approveWhen({ or: [true, inText] }), country('')).decision).toBe('approve');
    });
  });

  it('support only the operators named in the README', () => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
    const [, named = ''] = /Operators: (.*?) over a list of facts/.exec(readme) ?? [];
    const names = named.replace(', and all', ', all').split(', ');
    const known = (operator: string) =>
      !ruleFaults(approveWhen({ [operator]: [] })).some(({ detail }) => detail === 'There is no such operator.');
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !known(name))).toEqual([]);
    const engine = Object.keys(new LogicEngine().methods);
    expect(engine).toContain('reduce');
    expect(engine.filter((name) => known(name) && !names.includes(name))).toEqual([]);
    for (const name of ['+', '-', '*', '/', 'map', 'filter', 'reduce']) {
      expect({ name, known: known(name) }).toEqual({ name, known: false });
      expect(readme).toContain(`\`${name}\``);
    }
  });

  it('may decline by the absence of a fact', () => {
    expect(evaluateRules(declineWhen({ '!': [v('metadata.unknown')] }), facts).decision).toBe('decline');
    expect(evaluateRules(declineWhen({ missing: ['metadata.unknown'] }), facts).decision).toBe('decline');
  });

  it.each<[string, JsonValue, string]>([
    ['an unknown operator', { foo: 1 }, '/rules/0/when'],
    ['one that the engine knows and we do not', { throw: 'x' }, '/rules/0/when'],
    ['two operators at once', { '==': [1, 1], '!': 1 }, '/rules/0/when'],
    ['an empty object', { and: [{}] }, '/rules/0/when/and/0'],
    ...[null, 0, 1, '', 'yes', [], [true]].map((value): [string, JsonValue, string] => [
      `what is no condition, ${JSON.stringify(value)}`,
      value,
      '/rules/0/when',
    ]),
    ['such a one within', { and: [true, 1] }, '/rules/0/when'],
    ['such a one in a choice', { if: ['yes', true, false] }, '/rules/0/when'],
    ['such a one for each of a list', { all: [v('venue_ids'), 'x'] }, '/rules/0/when'],
    ['null in a comparison', { '==': [v('metadata.risk'), null] }, '/rules/0/when/==/1'],
    ['null in a list', { in: [v('metadata.risk'), ['low', null]] }, '/rules/0/when/in/1/1'],
    ['a comparison of no fact', { '<': [1, 2] }, '/rules/0/when'],
    ['looking for a text in a text', { in: ['a', 'abc'] }, '/rules/0/when'],
    ['looking in an empty list', { in: [v('metadata.risk'), []] }, '/rules/0/when'],
    ['looking in an empty text', { in: [v('metadata.risk'), ''] }, '/rules/0/when'],
    ['looking for a fact in a text', { in: [v('metadata.risk'), 'low,medium'] }, '/rules/0/when'],
    ['looking in a fact that is a text', { '!': [{ in: ['oar', v('case_type')] }] }, '/rules/0/when/!/0'],
    ['looking in a list that may be a text', { in: ['hall', { var: ['venue_ids', 'hall'] }] }, '/rules/0/when'],
    ['looking in the text of a list', { some: [v('venue_ids'), { in: ['h', v('')] }] }, '/rules/0/when/some/1'],
    ['looking in what an operation gives', { in: ['h', { if: [true, 'hall', 'x'] }] }, '/rules/0/when'],
    ['conditions without the list', { and: { '==': [v('case_type'), 'onboarding'] } }, '/rules/0/when'],
    ['alternatives without the list', { '!': [{ or: true }] }, '/rules/0/when/!/0'],
    ['a choice without the list', { if: true }, '/rules/0/when'],
    ['nothing that may be missing', { '!': [{ missing: [[]] }] }, '/rules/0/when/!/0'],
    ['an unknown fact that may be missing', { missing: ['clock'] }, '/rules/0/when'],
    ['no facts of which some may be missing', { missing_some: [1, []] }, '/rules/0/when'],
    ['no number of facts that may be missing', { missing_some: ['1', ['case_type']] }, '/rules/0/when'],
    ...[
      '+',
      '-',
      '*',
      '/',
      '%',
      'min',
      'max',
      'cat',
      'substr',
      'merge',
      'map',
      'filter',
      'reduce',
      'get',
      'keys',
      'val',
      'exists',
      'coalesce',
      'let',
      'each',
      'preserve',
      'log',
      'method',
      'eachKey',
      'xor',
      'not',
      'length',
      '??',
      'try',
      'throw',
    ].map((operator): [string, JsonValue, string] => [
      `the operator ${operator}`,
      { '==': [{ [operator]: [v('attachment_count'), 1] }, 1] },
      '/rules/0/when/==/0',
    ]),
    ['an unknown fact', { '!': [v('clock')] }, '/rules/0/when/!/0/var'],
    ['a fact that is computed', { var: { '==': [1, 1] } }, '/rules/0/when/var'],
    ['too many levels', nested(20), '/rules/0/when'],
    ['a comparison with nothing', { '==': [1] }, '/rules/0/when'],
    ['going through what is no list', { none: [{ var: 'metadata.risk' }, true] }, '/rules/0/when'],
    [
      'a fact where a text of the list is meant',
      { all: [v('venue_ids'), { '!=': [v('foo'), 'x'] }] },
      '/rules/0/when/all/1',
    ],
  ])('are refused for %s, with its pointer', (_, when, pointer) => {
    const [fault] = ruleFaults(approveWhen(when));
    expect(fault?.pointer.startsWith(pointer)).toBe(true);
    expect(() => rulesText(approveWhen(when))).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it('are refused above the limit on their size', () => {
    expect(ruleFaults(approveWhen({ and: Array.from({ length: 3000 }, () => true) }))).toHaveLength(1);
  });

  it('are deterministic, never throw, and approve only by an approving rule', () => {
    const logic = fc.letrec<{ any: JsonValue }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(
          true,
          false,
          null,
          0,
          1,
          'low',
          '',
          v('metadata.risk'),
          v('metadata.unknown'),
          v('attachment_count'),
        ),
        fc
          .tuple(
            fc.constantFrom('==', '!=', '<', '>', '!', '!!', 'and', 'or', 'if', 'in', 'some', 'all', 'none'),
            fc.array(tie('any'), { maxLength: 3 }),
          )
          .map(([operator, parts]) => ({ [operator]: parts })),
      ),
    })).any;
    fc.assert(
      fc.property(logic, (when) => {
        fc.pre(ruleFaults(approveWhen(when)).length === 0);
        const ruling = evaluateRules(approveWhen(when), facts);
        expect(evaluateRules(approveWhen(when), facts)).toEqual(ruling);
        expect(['approve', 'decline']).toContain(ruling.decision);
        if (JSON.stringify(when).includes('unknown')) expect(ruling.decision).toBe('decline');
      }),
      { numRuns: 1000 },
    );
  });
});

function nested(levels: number): JsonValue {
  return levels === 0 ? true : { and: [nested(levels - 1)] };
}
