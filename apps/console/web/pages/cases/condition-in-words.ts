import * as texts from './policy-texts.ts';

const BETWEEN: Readonly<Record<string, string>> = {
  '==': texts.is,
  '===': texts.is,
  '!=': texts.isNot,
  '!==': texts.isNot,
  '<': '<',
  '<=': '≤',
  '>': '>',
  '>=': '≥',
  and: texts.and,
  or: texts.or,
  in: texts.isIn,
};

const OF: Readonly<Record<string, (list: string, condition: string) => string>> = {
  some: texts.someOf,
  all: texts.allOf,
  none: texts.noneOf,
};

/** A JSON Logic condition as text; unknown operators are shown as JSON. */
export function conditionInWords(condition: unknown): string {
  if (Array.isArray(condition)) return `[${condition.map(conditionInWords).join(', ')}]`;
  if (typeof condition !== 'object' || condition === null) return JSON.stringify(condition);
  const [[operator, operands] = ['', null]] = Object.entries(condition) as [string, unknown][];
  const parts: readonly unknown[] = Array.isArray(operands) ? operands : [operands];
  if (operator === 'var') return String(parts[0]) || texts.it;
  if (operator === '!') return texts.not(conditionInWords(parts[0]));
  if (operator === 'missing') return texts.missing(parts.map(String).join(', '));
  const quantified = OF[operator];
  if (quantified !== undefined) return quantified(conditionInWords(parts[0]), conditionInWords(parts[1]));
  const word = BETWEEN[operator];
  if (word === undefined) return JSON.stringify(condition);
  const isJoin = operator === 'and' || operator === 'or';
  return parts
    .map((part) => (isJoin && joins(part) ? `(${conditionInWords(part)})` : conditionInWords(part)))
    .join(` ${word} `);
}

const joins = (part: unknown): boolean => typeof part === 'object' && part !== null && ('and' in part || 'or' in part);
