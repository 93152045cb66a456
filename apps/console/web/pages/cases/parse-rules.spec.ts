import { expect, it } from '@jest/globals';
import { parseRules, rulesText } from './parse-rules.ts';

it.each([
  ['{"rules":\n [x]}', /line 2, column 3/],
  ['{"rules": [', /The JSON ends too early/],
  ['{"a":1,"a":2}', /At \/a\./],
  ['{"a":9007199254740993}', /At \/a\./],
])('the place of the fault in %j is told', (text, fault) => {
  expect(parseRules(text).fault).toMatch(fault);
});

it('an empty text is a version without rules', () => {
  expect(parseRules(' \n')).toEqual({ rules: null });
  expect([rulesText(null), rulesText({ a: 1 })]).toEqual(['', '{\n  "a": 1\n}']);
});
