import type { JsonValue } from '@sealgate/json';
import { LogicEngine } from 'json-logic-engine';
import type { DecisionOutcome } from './case-record.ts';

/** What a rule may look at. Nothing else of a case, no clock and no chance: the same facts always decide the same. */
export interface CaseFacts {
  readonly case_type: string;
  readonly venue_ids: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachment_count: number;
  readonly attachment_kinds: readonly string[];
  readonly attachment_labels: readonly string[];
}

export interface Ruling {
  readonly decision: DecisionOutcome;
  readonly reason_codes: readonly string[];
}

export interface PolicyRules {
  readonly rules: readonly (Ruling & { readonly when: JsonValue })[];
  readonly default: Ruling;
}

/** What stands in place of an approve that was come to without a fact that a rule asked for. */
export const MISSING_FACT: Ruling = { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] };

/** One place that is wrong in the rules, as an RFC 6901 pointer below them. */
export interface RuleFault {
  readonly pointer: string;
  readonly detail: string;
}

/** Each operator with the fewest and the most arguments it takes. */
const arities: readonly (readonly [names: readonly string[], fewest: number, most: number])[] = [
  [['==', '===', '!=', '!==', 'in', 'missing_some', 'all', 'some', 'none'], 2, 2],
  [['<', '<=', '>', '>='], 2, 3],
  [['!', '!!'], 1, 1],
  [['and', 'or', 'if', '?:', 'missing'], 1, 50],
  [['var'], 1, 2],
];
const OPERATORS: ReadonlyMap<string, { readonly fewest: number; readonly most: number }> = new Map(
  arities.flatMap(([names, fewest, most]) => names.map((name) => [name, { fewest, most }] as const)),
);
/** They go through a list of texts: within their second argument `var` is "", the text, and no fact. */
const ITERATORS: ReadonlySet<string> = new Set(['all', 'some', 'none']);
/** They say nothing of a case unless they look at it. */
const COMPARISONS: ReadonlySet<string> = new Set(['==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in']);
const LOGICAL: ReadonlySet<string> = new Set(['and', 'or', '!', '!!']);
const FACTS: ReadonlySet<string> = new Set([
  'case_type',
  'venue_ids',
  'metadata',
  'attachment_count',
  'attachment_kinds',
  'attachment_labels',
]);
const LISTS: ReadonlySet<string> = new Set(['venue_ids', 'attachment_kinds', 'attachment_labels']);
const MOST_LEVELS = 16;
const MOST_NODES = 2000;

/** Everything in the conditions that could not be evaluated as it is meant. The shape around them was checked before. */
export function ruleFaults({ rules }: PolicyRules): RuleFault[] {
  const faults: RuleFault[] = [];
  let nodes = 0;
  const visit = (
    logic: JsonValue,
    pointer: string,
    { depth, isWithin }: { depth: number; isWithin: boolean },
  ): void => {
    nodes += 1;
    const fault = (detail: string): void => void faults.push({ pointer, detail });
    if (nodes === MOST_NODES + 1) return fault(`The rules have more than ${MOST_NODES} parts.`);
    if (nodes > MOST_NODES) return undefined;
    if (depth > MOST_LEVELS) return fault(`A condition is nested more than ${MOST_LEVELS} deep.`);
    if (Array.isArray(logic)) {
      logic.forEach((item, index) => visit(item, `${pointer}/${index}`, { depth: depth + 1, isWithin }));
      return undefined;
    }
    if (logic === null) return fault('Nothing among the facts is null.');
    if (typeof logic !== 'object') return undefined;
    const [operator, ...others] = Object.keys(logic);
    if (operator === undefined || others.length > 0) return fault('An operation is an object with one member.');
    if (!OPERATORS.has(operator)) return fault('There is no such operator.');
    const place = `${pointer}/${operator.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const given = logic[operator]!;
    if (operator === 'var') return visitVariable(given, place, isWithin);
    const parts = Array.isArray(given) ? given : [given];
    const misuse = misuseOf(operator, parts);
    if (misuse !== undefined) return fault(misuse);
    parts.forEach((part, index) => {
      const inner = isWithin || (ITERATORS.has(operator) && index === 1);
      visit(part, Array.isArray(given) ? `${place}/${index}` : place, { depth: depth + 1, isWithin: inner });
    });
    return undefined;
  };
  const visitVariable = (given: JsonValue, pointer: string, isWithin: boolean): void => {
    const [path, ...rest] = Array.isArray(given) ? given : [given];
    const isPlain = typeof path === 'string' && rest.length <= 1 && rest.every((value) => typeof value !== 'object');
    if (!isPlain) return void faults.push({ pointer, detail: 'var takes a name, and a default that is no operation.' });
    const isKnown = isWithin ? path === '' : FACTS.has(path.split('.')[0]!);
    if (!isKnown) faults.push({ pointer, detail: 'There is no such fact.' });
  };
  rules.forEach(({ when }, index) => {
    const pointer = `/rules/${index}/when`;
    if (isCondition(when)) visit(when, pointer, { depth: 1, isWithin: false });
    else faults.push({ pointer, detail: NO_CONDITION });
  });
  return faults;
}

/** What is wrong with the values that an operator is given, before any of them is looked into. */
function misuseOf(operator: string, parts: readonly JsonValue[]): string | undefined {
  const { fewest = 0, most = 0 } = OPERATORS.get(operator) ?? {};
  if (parts.length < fewest || parts.length > most) return 'The operator takes another number of values.';
  if (ITERATORS.has(operator) && !isList(parts[0])) return 'What is gone through is a list among the facts.';
  if (COMPARISONS.has(operator) && !parts.some(isOperation)) return 'At least one of the values is a fact.';
  if (operator === 'in' && isEmpty(parts[1])) return 'Nothing is in nothing.';
  if (!conditionsOf(operator, parts).every(isCondition)) return NO_CONDITION;
  return namesFacts(operator, parts) ? undefined : NO_FACT_NAMES;
}

/** What may be missing has to be something that there can be. */
function namesFacts(operator: string, parts: readonly JsonValue[]): boolean {
  if (operator === 'missing') return parts.every(isFactName);
  return operator !== 'missing_some' || (typeof parts[0] === 'number' && isFactNames(parts[1]));
}

const NO_CONDITION = 'A condition is true, false, or an operation.';
const NO_FACT_NAMES = 'What may be missing is given as names of facts.';

/** A text, a number or a list where a condition is meant is a slip of the pen, and would hold or not whatever the case. */
function isCondition(value: JsonValue): boolean {
  return typeof value === 'boolean' || isOperation(value);
}

function isOperation(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

/** Those of the values that decide something by being true or not. */
function conditionsOf(operator: string, parts: readonly JsonValue[]): readonly JsonValue[] {
  if (ITERATORS.has(operator)) return parts.slice(1);
  if (operator === 'if' || operator === '?:')
    return parts.filter((_, index) => index % 2 === 0 && index + 1 < parts.length);
  return LOGICAL.has(operator) ? parts : [];
}

function isFactName(value: JsonValue): boolean {
  return typeof value === 'string' && FACTS.has(value.split('.')[0]!);
}

function isFactNames(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isFactName);
}

function isList(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const path = value['var'];
  return typeof path === 'string' && LISTS.has(path);
}

class MistypedError extends Error {}

/** The engine with the operators above alone. Those that compare take what is alike: nothing is coerced to fit. */
const engine = strictEngine();

function strictEngine(): LogicEngine {
  const made = new LogicEngine();
  const methods = made.methods as Record<string, unknown>;
  for (const name of Object.keys(methods)) if (!OPERATORS.has(name)) delete methods[name];
  const compare = (holds: (a: number, b: number) => boolean) => (values: unknown) => {
    const numbers = (values as unknown[]).map(numberOf);
    return numbers.slice(1).every((value, index) => holds(numbers[index]!, value));
  };
  const same = (values: unknown): boolean => {
    const [a, b] = values as unknown[];
    if (a === undefined || b === undefined) throw new MistypedError();
    if (a !== null && b !== null && typeof a !== typeof b) throw new MistypedError();
    return a === b;
  };
  made.addMethod(
    '<',
    compare((a, b) => a < b),
    { deterministic: true },
  );
  made.addMethod(
    '<=',
    compare((a, b) => a <= b),
    { deterministic: true },
  );
  made.addMethod(
    '>',
    compare((a, b) => a > b),
    { deterministic: true },
  );
  made.addMethod(
    '>=',
    compare((a, b) => a >= b),
    { deterministic: true },
  );
  made.addMethod('in', isIn, { deterministic: true });
  for (const name of ['==', '===']) made.addMethod(name, same, { deterministic: true });
  for (const name of ['!=', '!==']) made.addMethod(name, (values: unknown) => !same(values), { deterministic: true });
  return made;
}

/** A text in a text, or a text or number in a list of such: everything else is a comparison of what cannot be alike. */
function isIn(values: unknown): boolean {
  const [needle, place] = values as unknown[];
  if (typeof needle !== 'string' && typeof needle !== 'number') throw new MistypedError();
  if (typeof place === 'string' && typeof needle === 'string') return place.includes(needle);
  if (!Array.isArray(place) || place.some((item) => typeof item !== typeof needle)) throw new MistypedError();
  return place.includes(needle);
}

/** A number, or a text that is one in plain decimals: metadata are texts. */
function numberOf(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'string' && /^-?(0|[1-9]\d{0,14})(\.\d{1,14})?$/.test(value)) return Number(value);
  throw new MistypedError();
}

/**
 * The outcome under these rules: the first rule whose condition holds, else the default.
 *
 * A fact that is missing never lets anybody in: an approving rule that names one does not match, nor does any rule whose
 * values are of the wrong type; and where a rule was passed over for that, an approve further on is a `refer`. A default
 * given to `var` is the author's own word and counts as there.
 */
export function evaluateRules({ rules, default: otherwise }: PolicyRules, facts: CaseFacts): Ruling {
  let isUncertain = false;
  for (const { when, ...ruling } of rules) {
    const isMissing = missesFact(when, facts);
    isUncertain ||= isMissing;
    if (isMissing && ruling.decision === 'approve') continue;
    const matched = matches(when, facts, ruling.decision);
    if (matched === undefined) isUncertain = true;
    if (matched === true) return certain(ruling, isUncertain);
  }
  return certain(otherwise, isUncertain);
}

function certain(ruling: Ruling, isUncertain: boolean): Ruling {
  return ruling.decision === 'approve' && isUncertain ? MISSING_FACT : ruling;
}

/** Undefined where the condition could not be evaluated. Only `true` itself approves; to the rest what JSON Logic calls true is enough. */
function matches(when: JsonValue, facts: CaseFacts, decision: DecisionOutcome): boolean | undefined {
  try {
    const value: unknown = engine.run(when, facts);
    return decision === 'approve' ? value === true : Boolean(engine.truthy(value));
  } catch {
    // A condition that fails on these facts says nothing about them, whatever it failed with.
    return undefined;
  }
}

/** Whether the condition names a fact, without a default, that this case does not have. */
function missesFact(logic: JsonValue, facts: CaseFacts): boolean {
  if (Array.isArray(logic)) return logic.some((item) => missesFact(item, facts));
  if (typeof logic !== 'object' || logic === null) return false;
  const [operator = '', given = null] = Object.entries(logic)[0] ?? [];
  if (operator === 'var') {
    const [path, ...rest] = Array.isArray(given) ? given : [given];
    return rest.length === 0 && !hasFact(String(path), facts);
  }
  const parts = Array.isArray(given) ? given : [given];
  return parts.some((part, index) => !(ITERATORS.has(operator) && index === 1) && missesFact(part, facts));
}

function hasFact(path: string, facts: CaseFacts): boolean {
  let value: unknown = facts;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return value !== null && value !== undefined;
}
