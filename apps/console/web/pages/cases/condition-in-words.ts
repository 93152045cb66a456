const BETWEEN: Readonly<Record<string, string>> = {
  '==': 'is',
  '===': 'is',
  '!=': 'is not',
  '!==': 'is not',
  '<': '<',
  '<=': '≤',
  '>': '>',
  '>=': '≥',
  and: 'and',
  or: 'or',
  in: 'is in',
};

/** A JSON Logic condition as text; unknown operators are shown as JSON. */
export function conditionInWords(condition: unknown): string {
  if (Array.isArray(condition)) return `[${condition.map(conditionInWords).join(', ')}]`;
  if (typeof condition !== 'object' || condition === null) return JSON.stringify(condition);
  const [[operator, operands] = ['', null]] = Object.entries(condition) as [string, unknown][];
  const parts: readonly unknown[] = Array.isArray(operands) ? operands : [operands];
  if (operator === 'var') return String(parts[0]) || 'it';
  if (operator === '!') return `not (${conditionInWords(parts[0])})`;
  if (operator === 'missing') return `missing ${parts.map(String).join(', ')}`;
  if (['some', 'all', 'none'].includes(operator))
    return `${operator} of ${conditionInWords(parts[0])}: ${conditionInWords(parts[1])}`;
  const word = BETWEEN[operator];
  if (word === undefined) return JSON.stringify(condition);
  const isJoin = word === 'and' || word === 'or';
  return parts
    .map((part) => (isJoin && joins(part) ? `(${conditionInWords(part)})` : conditionInWords(part)))
    .join(` ${word} `);
}

const joins = (part: unknown): boolean => typeof part === 'object' && part !== null && ('and' in part || 'or' in part);
