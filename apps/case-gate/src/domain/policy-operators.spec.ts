import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '@sealgate/json';
import { LogicEngine } from 'json-logic-engine';
import { evaluateCondition, MistypedError, namesOf, OPERATORS } from './policy-operators.ts';
import { ruleFaults } from './rule-faults.ts';

const facts = {
  case_type: 'onboarding',
  venue_ids: ['hall', 'pier'],
  metadata: { risk: 'low', score: '3', empty: '', 'country.code': 'DE', 'back\\slash': 'yes' },
  attachment_count: 2,
  attachment_kinds: ['vault_ref'],
  attachment_labels: [],
};
const v = (name: string): JsonValue => ({ var: name });
const valueOf = (condition: JsonValue): JsonValue => evaluateCondition(condition, facts).value;

describe('an operator', () => {
  it.each<[JsonValue, JsonValue]>([
    [{ '!': v('metadata.empty') }, true],
    [{ '!!': { missing: ['metadata.unknown'] } }, true],
    [{ missing: 'metadata.unknown' }, ['metadata.unknown']],
  ])('accepts a single value without a list: %j', (condition, value) => {
    expect(valueOf(condition)).toEqual(value);
  });

  it.each<[JsonValue, JsonValue]>([
    [v('metadata.unknown'), null],
    [v('metadata.unknown.deeper'), null],
    [v('metadata.constructor'), null],
    [v('metadata.__proto__'), null],
    [v('case_type.length'), null],
    [v('venue_ids.1'), 'pier'],
    [v('venue_ids.length'), 2],
    [v('metadata.country.code'), null],
    [v('metadata.country\\.code'), 'DE'],
    [v('metadata.back\\\\slash'), 'yes'],
    [v('metadata.back\\slash'), 'yes'],
    [{ var: ['metadata.unknown', 'none'] }, 'none'],
    [{ var: ['metadata.empty', 'none'] }, ''],
    [
      { missing: ['metadata.constructor', 'metadata.toString', 'metadata.risk'] },
      ['metadata.constructor', 'metadata.toString'],
    ],
    [{ missing: ['metadata.country\\.code', 'metadata.country.code', 'metadata.empty'] }, ['metadata.country.code']],
    [{ missing_some: [1, ['metadata.constructor', 'metadata.risk']] }, []],
    [{ missing_some: [1, ['metadata.constructor']] }, ['metadata.constructor']],
  ])('finds own members, and null elsewhere: %j', (condition, value) => {
    expect(valueOf(condition)).toEqual(value);
  });

  it.each([
    ['a.b', ['a', 'b']],
    ['a\\.b.c', ['a.b', 'c']],
    ['a\\\\.b', ['a\\', 'b']],
    ['a\\/b', ['a/b']],
    ['a\\', ['a\\']],
    ['a.', ['a', '']],
    ['', ['']],
  ])('splits the path %j into names', (path, names) => {
    expect(namesOf(path)).toEqual(names);
  });

  it.each<[JsonValue]>([
    [{ '==': [v('metadata.risk'), 5] }],
    [{ '<': [v('metadata.risk'), 5] }],
    [{ in: [v('venue_ids'), ['hall']] }],
    [{ in: ['low', v('attachment_count')] }],
    [{ some: [v('metadata.risk'), true] }],
    [{ missing_some: [1, 'metadata.risk'] }],
    [{ and: true }],
    [{ or: { '==': [v('case_type'), 'onboarding'] } }],
    [{ if: true }],
    [{ '?:': v('venue_ids') }],
    [{ reduce: [v('venue_ids'), true] }],
    [{ '==': [1, 1], '!': true }],
  ])('refuses values that it does not take: %j', (condition) => {
    expect(() => valueOf(condition)).toThrow(MistypedError);
  });
});

describe('conditions with similar values', () => {
  const texts = fc.constantFrom<JsonValue>('low', '', 'hall', v('metadata.risk'), v('case_type'), v('metadata.empty'));
  const numbers = fc.constantFrom<JsonValue>(0, 1, 2, 3.5, v('attachment_count'), { var: ['metadata.unknown', 7] });
  const lists = fc.constantFrom('venue_ids', 'attachment_kinds', 'attachment_labels').map(v);
  const paths = fc.constantFrom(
    'case_type',
    'metadata.risk',
    'metadata.unknown',
    'metadata.country\\.code',
    'metadata.empty',
  );
  const pathLists = fc.array(paths, { minLength: 1, maxLength: 4 });
  const of = (...names: string[]) => fc.constantFrom(...names);
  const operation = (names: fc.Arbitrary<string>, parts: fc.Arbitrary<JsonValue[]>) =>
    fc.tuple(names, parts).map(([name, values]): JsonValue => ({ [name]: values }));
  const { condition } = fc.letrec<Record<'condition' | 'ofText', JsonValue>>((tie) => ({
    ofText: fc.oneof(
      fc.boolean(),
      operation(
        of('==', '===', '!=', '!=='),
        fc.tuple(fc.constant(v('')), fc.constantFrom<JsonValue>('hall', 'pier', '')),
      ),
      operation(of('in'), fc.tuple(fc.constant(v('')), fc.constantFrom<JsonValue>(['hall', ''], ['vault_ref']))),
      operation(of('!', '!!'), fc.tuple(tie('ofText'))),
      operation(of('and', 'or'), fc.array(tie('ofText'), { minLength: 1, maxLength: 3 })),
    ),
    condition: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      operation(of('==', '===', '!=', '!=='), fc.oneof(fc.tuple(texts, texts), fc.tuple(numbers, numbers))),
      operation(of('<', '<=', '>', '>='), fc.array(numbers, { minLength: 2, maxLength: 3 })),
      operation(of('in'), fc.tuple(texts, fc.oneof(lists, fc.array(texts, { minLength: 1, maxLength: 3 })))),
      operation(of('missing'), pathLists),
      operation(of('missing_some'), fc.tuple(fc.integer({ min: 0, max: 4 }), pathLists)),
      operation(of('!', '!!'), fc.tuple(tie('condition'))),
      operation(of('and', 'or'), fc.array(tie('condition'), { minLength: 1, maxLength: 4 })),
      operation(of('if', '?:'), fc.array(tie('condition'), { minLength: 1, maxLength: 6 })),
      operation(of('all', 'some', 'none'), fc.tuple(lists, tie('ofText'))),
    ),
  }));

  it('have the value of JSON Logic', () => {
    const engine = new LogicEngine();
    const met = new Set<string>();
    fc.assert(
      fc.property(condition, (logic) => {
        expect(valueOf(logic)).toEqual(engine.run(logic, facts) as JsonValue);
        for (const [, name] of JSON.stringify(logic).matchAll(/\{"([^"]+)":/g)) met.add(name!);
      }),
      { numRuns: 3000 },
    );
    expect([...met].sort()).toEqual([...OPERATORS.keys()].sort());
  });

  it('are accepted if they refer to facts', () => {
    const accepted = (when: JsonValue) =>
      ruleFaults({
        rules: [{ when, decision: 'approve', reason_codes: [] }],
        default: { decision: 'decline', reason_codes: [] },
      });
    expect(accepted({ '==': [v('metadata.country\\.code'), 'DE'] })).toEqual([]);
    expect(accepted({ missing: 'metadata.unknown' })).toEqual([]);
  });
});
