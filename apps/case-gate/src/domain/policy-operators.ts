import type { JsonValue } from '@sealgate/json';
import type { CaseFacts } from './case-facts.ts';

/** A condition that cannot be evaluated on these facts, because a value has the wrong type. */
export class MistypedError extends Error {}

interface Scope {
  /** The object that `var` reads: the facts, or, within an iteration, a text of its list. */
  readonly value: unknown;
  /** Called for a substring search, whose result cannot be trusted: see `in`. */
  readonly onTextSearched: () => void;
}

export interface Operator {
  /** The minimum and maximum number of values. */
  readonly arity: readonly [fewest: number, most: number];
  /**
   * - `fact`: `var`
   * - `absence`: takes names of facts
   * - `comparison`: must refer to at least one fact
   * - `truth`: takes a condition
   * - `connective`: takes a list of conditions
   * - `choice`: takes a list, with a condition before each value but the last
   * - `iteration`: goes through a list of texts; within its second value `var` is "", the text, and no fact
   */
  readonly kind: 'fact' | 'absence' | 'comparison' | 'truth' | 'connective' | 'choice' | 'iteration';
  /** @throws MistypedError. */
  readonly evaluate: (parts: readonly JsonValue[], scope: Scope) => JsonValue;
}

/** All supported operators of JSON Logic (https://jsonlogic.com/operations.html). Only plain decimals are coerced. */
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
  /** Whether a substring search took place, which new policies cannot contain. */
  readonly searchesText: boolean;
}

/** @throws MistypedError. */
export function evaluateCondition(condition: JsonValue, facts: CaseFacts): Evaluated {
  let searchesText = false;
  const value = evaluated(condition, { value: facts, onTextSearched: () => (searchesText = true) });
  return { value, searchesText };
}

/** Truthy in JSON Logic: not false, null, 0, "" or an empty list. */
export function isTruthy(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** The values of an operator: a list, or a single value without a list. */
export const partsOf = (given: JsonValue): readonly JsonValue[] => (Array.isArray(given) ? given : [given]);

/** A single condition where a list is expected is a mistake, which may have lost the others. */
export const lacksList = ({ kind }: Operator, given: JsonValue): boolean =>
  (kind === 'connective' || kind === 'choice') && !Array.isArray(given);

/** The names of a path, separated by dots; `\.` is a dot within a name, `\\` a backslash, `\/` a slash. */
export function namesOf(path: string): readonly string[] {
  const names = [''];
  for (const [part] of path.matchAll(/\\[./\\]|[^]/gu)) {
    if (part === '.') names.push('');
    else names.push(`${names.pop()!}${part.length === 2 && part.startsWith('\\') ? part[1]! : part}`);
  }
  return names;
}

/** The value at a path of own members; null where there is none. A text has no members. */
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

/** The missing names if fewer than `fewest` are present; else none. */
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
 * Membership of a text or a number in a list. Also substring search, which policies made earlier may contain. Its
 * result approves nobody: the empty text is in every text, and "DE,F" in "DE,FR". See `evaluateRules`.
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

/** The first value that is truthy or falsy, as asked; else the last. Later values are not evaluated. */
function firstOf(parts: readonly JsonValue[], scope: Scope, asked: boolean): JsonValue {
  let value: JsonValue = null;
  for (const part of parts) {
    value = evaluated(part, scope);
    if (isTruthy(value) === asked) break;
  }
  return value;
}

/** Condition, value, condition, value, and so on, then the default; null where there is none. */
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

/** A number, or a text that is a plain decimal, since metadata values are texts. */
function numberOf(value: JsonValue): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'string' && /^-?(0|[1-9]\d{0,14})(\.\d{1,14})?$/.test(value)) return Number(value);
  throw new MistypedError();
}
