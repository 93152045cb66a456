import { escapePointer, type JsonValue } from '@sealgate/json';
import { isFact, isListFact } from './case-facts.ts';
import { lacksList, namesOf, OPERATORS, partsOf, type Operator } from './policy-operators.ts';
import type { PolicyRules } from './policy.ts';

/** A fault of the rules, with an RFC 6901 pointer into them. */
interface RuleFault {
  readonly pointer: string;
  readonly detail: string;
}

const MAX_LEVELS = 16;
const MAX_NODES = 2000;

/** All faults of the conditions. The schema has checked the shape around them. */
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
    if (nodes === MAX_NODES + 1) return fault(`The rules have more than ${MAX_NODES} parts.`);
    if (nodes > MAX_NODES) return undefined;
    if (depth > MAX_LEVELS) return fault(`A condition is nested more than ${MAX_LEVELS} deep.`);
    if (Array.isArray(logic)) {
      logic.forEach((item, index) => visit(item, `${pointer}/${index}`, { depth: depth + 1, isWithin }));
      return undefined;
    }
    if (logic === null) return fault('No fact is ever null.');
    if (typeof logic !== 'object') return undefined;
    const [operator, ...others] = Object.keys(logic);
    if (operator === undefined || others.length > 0) return fault('An operation is an object with one member.');
    const known = OPERATORS.get(operator);
    if (known === undefined) return fault('There is no such operator.');
    const place = `${pointer}/${escapePointer(operator)}`;
    const given = logic[operator]!;
    if (operator === 'var') return visitVariable(given, place, isWithin);
    if (lacksList(known, given)) return fault('The operator takes a list.');
    const parts = partsOf(given);
    const misuse = valuesFault(operator, known, parts);
    if (misuse !== undefined) return fault(misuse);
    parts.forEach((part, index) => {
      const inner = isWithin || (known.kind === 'iteration' && index === 1);
      visit(part, Array.isArray(given) ? `${place}/${index}` : place, { depth: depth + 1, isWithin: inner });
    });
    return undefined;
  };
  const visitVariable = (given: JsonValue, pointer: string, isWithin: boolean): void => {
    const [path, ...rest] = partsOf(given);
    const isPlain = typeof path === 'string' && rest.length <= 1 && rest.every((value) => typeof value !== 'object');
    if (!isPlain)
      return void faults.push({ pointer, detail: 'var takes a name and a default that is not an operation.' });
    const isKnown = isWithin ? path === '' : isFactName(path);
    if (!isKnown) faults.push({ pointer, detail: 'There is no such fact.' });
  };
  rules.forEach(({ when }, index) => {
    const pointer = `/rules/${index}/when`;
    if (isCondition(when)) visit(when, pointer, { depth: 1, isWithin: false });
    else faults.push({ pointer, detail: NO_CONDITION });
  });
  return faults;
}

/** A fault of an operator's values as a whole. */
function valuesFault(name: string, { arity, kind }: Operator, parts: readonly JsonValue[]): string | undefined {
  const [fewest, most] = arity;
  if (parts.length < fewest || parts.length > most) return 'The operator takes a different number of values.';
  if (kind === 'iteration' && !isList(parts[0])) return 'An iteration needs a list among the facts.';
  if (kind === 'comparison' && !parts.some(isOperation)) return 'At least one of the values must be a fact.';
  if (name === 'in' && !isPlace(parts[1])) return NO_PLACE;
  if (!conditionsOf(kind, parts).every(isCondition)) return NO_CONDITION;
  return namesFacts(name, parts) ? undefined : NO_FACT_NAMES;
}

/** A valid second value of `in`. A text is not: every text contains the empty one, and parts of the names in it. */
function isPlace(value: JsonValue | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : isList(value);
}

/** Names of facts that can exist. */
function namesFacts(operator: string, parts: readonly JsonValue[]): boolean {
  if (operator === 'missing') return parts.every(isFactName);
  return operator !== 'missing_some' || (typeof parts[0] === 'number' && isFactNames(parts[1]));
}

const NO_PLACE = 'in takes a non-empty list, or a list among the facts, but not a text.';
const NO_CONDITION = 'A condition is true, false, or an operation.';
const NO_FACT_NAMES = 'missing and missing_some take names of facts.';

/** A text, a number or a list in place of a condition is a mistake: it would hold or not whatever the case. */
function isCondition(value: JsonValue): boolean {
  return typeof value === 'boolean' || isOperation(value);
}

function isOperation(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The values that are used as conditions. */
function conditionsOf(kind: Operator['kind'], parts: readonly JsonValue[]): readonly JsonValue[] {
  if (kind === 'iteration') return parts.slice(1);
  if (kind === 'choice') return parts.filter((_, index) => index % 2 === 0 && index + 1 < parts.length);
  return kind === 'truth' || kind === 'connective' ? parts : [];
}

function isFactName(value: JsonValue): boolean {
  return typeof value === 'string' && isFact(namesOf(value)[0]!);
}

function isFactNames(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isFactName);
}

function isList(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const [path, ...others] = partsOf(value['var'] ?? null);
  return typeof path === 'string' && isListFact(path) && others.length === 0;
}
