import type { JsonValue } from '@sealgate/json';
import type { NewAttachment, Outcome, Ruling } from './case-api.ts';
import * as texts from './policy-texts.ts';

export const OUTCOMES = ['approve', 'refer', 'decline'] as const satisfies readonly Outcome[];
export const ATTACHMENT_KINDS = ['vault_ref', 'upload_handle'] as const satisfies readonly NewAttachment['kind'][];

/** The facts of a case that conditions are about, and which conditions each takes. */
export const FACTS = [
  { fact: 'case_type', label: texts.caseType, of: 'text' },
  { fact: 'metadata', label: texts.metadata, of: 'text' },
  { fact: 'attachment_count', label: texts.numberOfAttachments, of: 'number' },
  { fact: 'attachment_kinds', label: texts.kindsOfAttachments, of: 'list' },
  { fact: 'attachment_labels', label: texts.labelsOfAttachments, of: 'list' },
  { fact: 'venue_ids', label: texts.venues, of: 'list' },
] as const;
export type Fact = (typeof FACTS)[number]['fact'];
export type FactKind = (typeof FACTS)[number]['of'];

export const TESTS = {
  text: [
    { test: '==', label: texts.is },
    { test: '!=', label: texts.isNot },
    { test: 'in', label: texts.isOneOf },
    { test: 'missing', label: texts.isMissing },
  ],
  number: [
    { test: '>=', label: texts.isAtLeast },
    { test: '<=', label: texts.isAtMost },
    { test: '>', label: texts.isMoreThan },
    { test: '<', label: texts.isLessThan },
    { test: '==', label: texts.is },
    { test: '!=', label: texts.isNot },
  ],
  list: [
    { test: 'has', label: texts.has },
    { test: 'has not', label: texts.hasNot },
  ],
} as const;

/** A condition about one fact. `name`: of a member of metadata. */
interface FactCondition {
  readonly fact: Fact;
  readonly name: string;
  readonly test: string;
  readonly value: string | number | readonly string[];
}

/** A condition that the form has no fields for; it stays as it is. */
interface OtherCondition {
  readonly other: JsonValue;
}

export type Condition = FactCondition | OtherCondition;

export interface Rule extends Ruling {
  readonly join: 'and' | 'or';
  /** Whether a single condition is in a list of its own. */
  readonly isList: boolean;
  readonly conditions: readonly Condition[];
}

/** The rules as fields. */
export interface RulesForm {
  readonly rules: readonly Rule[];
  readonly otherwise: Ruling;
}

export const kindOf = (fact: Fact): FactKind => FACTS.find((one) => one.fact === fact)!.of;

/** A condition as a change of the fact leaves it. */
export function conditionOn(fact: Fact): FactCondition {
  const { test } = TESTS[kindOf(fact)][0];
  return { fact, name: '', test, value: kindOf(fact) === 'number' ? 1 : '' };
}

type Members = { readonly [member: string]: JsonValue };
const isMembers = (value: JsonValue | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of rules; undefined if they have another form, which the service refuses. */
export function formOf(value: JsonValue): RulesForm | undefined {
  if (!isMembers(value) || !hasOnly(value, ['rules', 'default']) || !Array.isArray(value['rules'])) return undefined;
  const otherwise = rulingOf(value['default'], []);
  const rules = (value['rules'] as readonly JsonValue[]).map(ruleOf);
  if (otherwise === undefined || rules.includes(undefined)) return undefined;
  return { rules: rules as Rule[], otherwise };
}

const hasOnly = (value: Members, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));

function rulingOf(value: JsonValue | undefined, more: readonly string[]): Ruling | undefined {
  if (!isMembers(value) || !hasOnly(value, ['decision', 'reason_codes', ...more])) return undefined;
  const { decision, reason_codes: codes } = value;
  if (!OUTCOMES.some((outcome) => outcome === decision) || !isTexts(codes)) return undefined;
  return { decision: decision as Outcome, reason_codes: codes };
}

const isTexts = (value: JsonValue | undefined): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function ruleOf(value: JsonValue): Rule | undefined {
  const ruling = rulingOf(value, ['when']);
  if (ruling === undefined || !isMembers(value)) return undefined;
  const { when } = value;
  if (when === undefined) return undefined;
  if (when === true) return { ...ruling, join: 'and', isList: false, conditions: [] };
  const [[join, parts] = ['', null], ...more] = isMembers(when) ? Object.entries(when) : [];
  if ((join === 'and' || join === 'or') && more.length === 0 && Array.isArray(parts) && parts.length > 0)
    return { ...ruling, join, isList: parts.length === 1, conditions: parts.map(conditionOf) };
  return { ...ruling, join: 'and', isList: false, conditions: [conditionOf(when)] };
}

/** Of several spellings of one condition the form knows one: what it would write differently stays as it is. */
function conditionOf(value: JsonValue): Condition {
  const read = readCondition(value);
  return read !== undefined && JSON.stringify(valueOfCondition(read)) === JSON.stringify(value)
    ? read
    : { other: value };
}

function readCondition(value: JsonValue): FactCondition | undefined {
  if (!isMembers(value)) return undefined;
  const [[operator, given] = ['', null]] = Object.entries(value);
  if (operator === 'missing') return isTexts(given) ? factCondition(given[0], 'missing', '') : undefined;
  if (operator === '!') {
    const inner = readCondition(given);
    return inner?.test === 'has' ? { ...inner, test: 'has not' } : undefined;
  }
  if (!Array.isArray(given) || given.length !== 2) return undefined;
  const [left, right] = given as [JsonValue, JsonValue];
  if (operator === 'in' && isMembers(right)) return listCondition(left, right['var']);
  return isMembers(left) ? factCondition(left['var'], operator, right) : undefined;
}

function listCondition(value: JsonValue, fact: JsonValue | undefined): FactCondition | undefined {
  const found = FACTS.find((one) => one.fact === fact && one.of === 'list');
  return found === undefined || typeof value !== 'string'
    ? undefined
    : { fact: found.fact, name: '', test: 'has', value };
}

function factCondition(path: JsonValue | undefined, test: string, value: JsonValue): FactCondition | undefined {
  if (typeof path !== 'string') return undefined;
  const isMember = path.startsWith('metadata.');
  const fact = isMember ? 'metadata' : FACTS.find((one) => one.fact === path)?.fact;
  if (fact === undefined || (fact === 'metadata') !== isMember) return undefined;
  const kind = kindOf(fact);
  const takes = kind === 'number' ? typeof value === 'number' : typeof value === 'string' || isTexts(value);
  if (!TESTS[kind].some((one) => one.test === test) || (test === 'in') !== Array.isArray(value) || !takes)
    return undefined;
  const name = isMember ? unescaped(path.slice('metadata.'.length)) : '';
  return name === undefined ? undefined : { fact, name, test, value: value as FactCondition['value'] };
}

/** Names of members have `\.` for a dot and `\\` for a backslash in a path. Undefined: a path of several members. */
function unescaped(path: string): string | undefined {
  return /^(?:[^.\\]|\\[.\\])*$/.test(path) ? path.replaceAll(/\\([.\\])/g, '$1') : undefined;
}

const pathOf = ({ fact, name }: FactCondition): string =>
  fact === 'metadata' ? `metadata.${name.replaceAll(/[.\\]/g, String.raw`\$&`)}` : fact;

function valueOfCondition(condition: Condition): JsonValue {
  if ('other' in condition) return condition.other;
  const { test, value } = condition;
  const path = pathOf(condition);
  if (test === 'missing') return { missing: [path] };
  if (test === 'has') return { in: [value as string, { var: path }] };
  if (test === 'has not') return { '!': { in: [value as string, { var: path }] } };
  return { [test]: [{ var: path }, typeof value === 'object' ? [...value] : value] };
}

/** The rules that the fields stand for. */
export function rulesOf({ rules, otherwise }: RulesForm): JsonValue {
  const written = rules.map(({ join, isList, conditions, decision, reason_codes: codes }) => {
    const parts = conditions.map(valueOfCondition);
    const when = parts.length === 0 ? true : parts.length === 1 && !isList ? parts[0]! : { [join]: parts };
    return { when, decision, reason_codes: [...codes] };
  });
  return {
    rules: written,
    default: { decision: otherwise.decision, reason_codes: [...otherwise.reason_codes] },
  };
}

/** The entries of a field for several, also of a text that was pasted or left with its separators. */
export const entriesOf = (typed: readonly string[], separator: string | RegExp): string[] => [
  ...new Set(
    typed
      .flatMap((entry) => entry.split(separator))
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  ),
];
