import type { JsonValue } from '@sealgate/json';

/** What a rule may look at. Nothing else of a case, no clock and no chance: the same facts always decide the same. */
export interface CaseFacts {
  readonly case_type: string;
  readonly venue_ids: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachment_count: number;
  readonly attachment_kinds: readonly string[];
  readonly attachment_labels: readonly string[];
}

/** A condition that cannot be evaluated on these facts: something is not of the type that an operator takes. */
export class MistypedError extends Error {}

interface Scope {
  /** What `var` looks into: the facts, or, within an iteration, a text of its list. */
  readonly value: unknown;
  /** Told of a search in a text, which answers what nobody meant to ask: see `in`. */
  readonly onTextSearched: () => void;
}

export interface Operator {
  /** The fewest and the most values it takes. */
  readonly arity: readonly [fewest: number, most: number];
  /**
   * - `fact`: `var`
   * - `absence`: takes names of facts
   * - `comparison`: says nothing of a case unless it looks at it
   * - `truth`: takes a condition
   * - `connective`: takes a list of conditions
   * - `choice`: takes a list, of a condition before each value but the last
   * - `iteration`: goes through a list of texts; within its second value `var` is "", the text, and no fact
   */
  readonly kind: 'fact' | 'absence' | 'comparison' | 'truth' | 'connective' | 'choice' | 'iteration';
  /** @throws MistypedError. */
  readonly evaluate: (parts: readonly JsonValue[], scope: Scope) => JsonValue;
}

/** Every operator that a condition can have (https://jsonlogic.com/operations.html). Nothing is coerced but plain decimals. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  Object.entries<Operator>({
    var: { arity: [1, 2], kind: 'fact', evaluate: variable },
    missing: { arity: [1, 50], kind: 'absence', evaluate: missingOf },
    missing_some: { arity: [2, 2], kind: 'absence', evaluate: missingSome },
    '==': { arity: [2, 2], kind: 'comparison', evaluate: isSame },
    '===': { arity: [2, 2], kind: 'comparison', evaluate: isSame },
    '!=': { arity: [2, 2], kind: 'comparison', evaluate: (parts, scope) => !isSame(parts, scope) },
    '!==': { arity: [2, 2], kind: 'comparison', evaluate: (parts, scope) => !isSame(parts, scope) },
    '<': { arity: [2, 3], kind: 'comparison', evaluate: ordered((a, b) => a < b) },
    '<=': { arity: [2, 3], kind: 'comparison', evaluate: ordered((a, b) => a <= b) },
    '>': { arity: [2, 3], kind: 'comparison', evaluate: ordered((a, b) => a > b) },
    '>=': { arity: [2, 3], kind: 'comparison', evaluate: ordered((a, b) => a >= b) },
    in: { arity: [2, 2], kind: 'comparison', evaluate: isIn },
    '!': { arity: [1, 1], kind: 'truth', evaluate: ([part = null], scope) => !holds(part, scope) },
    '!!': { arity: [1, 1], kind: 'truth', evaluate: ([part = null], scope) => holds(part, scope) },
    and: { arity: [1, 50], kind: 'connective', evaluate: (parts, scope) => firstOf(parts, scope, false) },
    or: { arity: [1, 50], kind: 'connective', evaluate: (parts, scope) => firstOf(parts, scope, true) },
    if: { arity: [1, 50], kind: 'choice', evaluate: choose },
    '?:': { arity: [1, 50], kind: 'choice', evaluate: choose },
    all: {
      arity: [2, 2],
      kind: 'iteration',
      evaluate: iterated((texts, test) => texts.length > 0 && texts.every(test)),
    },
    some: { arity: [2, 2], kind: 'iteration', evaluate: iterated((texts, test) => texts.some(test)) },
    none: { arity: [2, 2], kind: 'iteration', evaluate: iterated((texts, test) => !texts.some(test)) },
  }),
);

export interface Evaluated {
  readonly value: JsonValue;
  /** Whether a text was searched for a part of it, as no condition may any more that is made now. */
  readonly searchesText: boolean;
}

/** @throws MistypedError. */
export function evaluateCondition(condition: JsonValue, facts: CaseFacts): Evaluated {
  let searchesText = false;
  const value = evaluated(condition, { value: facts, onTextSearched: () => (searchesText = true) });
  return { value, searchesText };
}

/** What JSON Logic calls true: not false, null, 0, "" or an empty list. */
export function isTruthy(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** The values an operator is given: a list, or one without a list around it. */
export const partsOf = (given: JsonValue): readonly JsonValue[] => (Array.isArray(given) ? given : [given]);

/** One condition where several are meant is a slip of the pen: the list was left out, and with it perhaps the others. */
export const lacksList = ({ kind }: Operator, given: JsonValue): boolean =>
  (kind === 'connective' || kind === 'choice') && !Array.isArray(given);

/** The names of a path. They are divided by dots; `\.` is a dot within a name, `\\` a backslash, `\/` a slash. */
export function namesOf(path: string): readonly string[] {
  const names = [''];
  for (const [part] of path.matchAll(/\\[./\\]|[^]/gu)) {
    if (part === '.') names.push('');
    else names.push(`${names.pop()!}${part.length === 2 && part.startsWith('\\') ? part[1]! : part}`);
  }
  return names;
}

/** What stands at a path of own members; null where there is nothing. A text has no members. */
export function valueAt(path: string, within: unknown): JsonValue {
  let value = within;
  for (const name of path === '' ? [] : namesOf(path)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return (value ?? null) as JsonValue;
}

function evaluated(logic: JsonValue, scope: Scope): JsonValue {
  if (Array.isArray(logic)) return logic.map((item) => evaluated(item, scope));
  if (typeof logic !== 'object' || logic === null) return logic;
  const [[name, given] = ['', null], ...others] = Object.entries(logic);
  const operator = others.length === 0 ? OPERATORS.get(name) : undefined;
  if (operator === undefined || lacksList(operator, given)) throw new MistypedError();
  return operator.evaluate(partsOf(given), scope);
}

function holds(condition: JsonValue, scope: Scope): boolean {
  return isTruthy(evaluated(condition, scope));
}

function variable([path = null, otherwise = null]: readonly JsonValue[], { value }: Scope): JsonValue {
  return valueAt(textOf(path), value) ?? otherwise;
}

function missingOf(names: readonly JsonValue[], { value }: Scope): JsonValue[] {
  return names.filter((name) => valueAt(textOf(name), value) === null);
}

/** All that are missing where fewer than so many are there; else none. */
function missingSome([fewest = null, names = null]: readonly JsonValue[], scope: Scope): JsonValue[] {
  if (!Array.isArray(names)) throw new MistypedError();
  const missing = missingOf(names, scope);
  return names.length - missing.length < numberOf(fewest) ? missing : [];
}

function isSame(parts: readonly JsonValue[], scope: Scope): boolean {
  const [a = null, b = null] = parts.map((part) => evaluated(part, scope));
  if (a !== null && b !== null && typeof a !== typeof b) throw new MistypedError();
  return a === b;
}

function ordered(isInOrder: (a: number, b: number) => boolean): Operator['evaluate'] {
  return (parts, scope) => {
    const numbers = parts.map((part) => numberOf(evaluated(part, scope)));
    return numbers.slice(1).every((value, index) => isInOrder(numbers[index]!, value));
  };
}

/**
 * A text or a number in a list of such. In a text, as before: policies that were made then have such conditions. The empty text
 * is in every text, and "DE,F" in "DE,FR", so nobody is let in by the answer: see `evaluateRules`.
 */
function isIn([part = null, within = null]: readonly JsonValue[], scope: Scope): boolean {
  const [needle, place] = [evaluated(part, scope), evaluated(within, scope)];
  if (typeof needle !== 'string' && typeof needle !== 'number') throw new MistypedError();
  if (typeof place === 'string' && typeof needle === 'string') {
    scope.onTextSearched();
    return place.includes(needle);
  }
  if (!Array.isArray(place) || place.some((item) => typeof item !== typeof needle)) throw new MistypedError();
  return place.includes(needle);
}

/** The first of the values that is true or false, as asked; else the last. Those behind it are not evaluated. */
function firstOf(parts: readonly JsonValue[], scope: Scope, asked: boolean): JsonValue {
  let value: JsonValue = null;
  for (const part of parts) {
    value = evaluated(part, scope);
    if (isTruthy(value) === asked) break;
  }
  return value;
}

/** Condition, value, condition, value, and what else; null where that is not there. */
function choose(parts: readonly JsonValue[], scope: Scope): JsonValue {
  let at = 0;
  while (at + 1 < parts.length && !holds(parts[at]!, scope)) at += 2;
  const chosen = at + 1 < parts.length ? at + 1 : at;
  return chosen < parts.length ? evaluated(parts[chosen]!, scope) : null;
}

function iterated(
  answer: (texts: readonly JsonValue[], test: (text: JsonValue) => boolean) => boolean,
): Operator['evaluate'] {
  return ([list = null, condition = null], scope) => {
    const texts = evaluated(list, scope);
    if (!Array.isArray(texts)) throw new MistypedError();
    return answer(texts, (text) => holds(condition, { ...scope, value: text }));
  };
}

function textOf(value: JsonValue): string {
  if (typeof value !== 'string') throw new MistypedError();
  return value;
}

/** A number, or a text that is one in plain decimals: metadata are texts. */
function numberOf(value: JsonValue): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'string' && /^-?(0|[1-9]\d{0,14})(\.\d{1,14})?$/.test(value)) return Number(value);
  throw new MistypedError();
}
