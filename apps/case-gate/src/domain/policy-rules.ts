import type { JsonValue } from '@sealgate/json';
import type { DecisionOutcome } from './case-record.ts';
import {
  evaluateCondition,
  isTruthy,
  MistypedError,
  OPERATORS,
  partsOf,
  valueAt,
  type CaseFacts,
  type Evaluated,
} from './policy-operators.ts';

export interface Ruling {
  readonly decision: DecisionOutcome;
  readonly reason_codes: readonly string[];
}

export interface PolicyRules {
  readonly rules: readonly (Ruling & { readonly when: JsonValue })[];
  readonly default: Ruling;
}

/** What stands in place of an approve that was come to without a fact that a rule asked for. */
const MISSING_FACT: Ruling = { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] };

/**
 * The outcome under these rules: the first rule whose condition holds, else the default.
 *
 * A fact that is missing never lets anybody in: an approving rule that names one does not match, nor does any rule whose
 * values are of the wrong type; and where a rule was passed over for that, an approve further on is a `refer`. A default
 * given to `var` is the author's own word and counts as there. The same holds for a search in a text, which policies of before
 * may have (`in` over a text), whichever rule it stands in: what is not found by it is no more certain than what is.
 */
export function evaluateRules({ rules, default: otherwise }: PolicyRules, facts: CaseFacts): Ruling {
  let isUncertain = false;
  for (const rule of rules) {
    const { holds, leavesDoubt } = judge(rule, facts);
    isUncertain ||= leavesDoubt;
    if (holds) return certain(rulingOf(rule), isUncertain);
  }
  return certain(otherwise, isUncertain);
}

/** What one rule says of a case. */
export interface RuleWord {
  /** `cannot_tell`: a fact that it names is missing, is of the wrong type, or is searched for in a text. */
  readonly says: 'holds' | 'does_not_hold' | 'cannot_tell';
  /** Facts that it names, without a default, and that the case does not have. */
  readonly missing: readonly string[];
}

export interface Explanation {
  /** As `evaluateRules` gives it. */
  readonly ruling: Ruling;
  /** Of every rule, also of those behind the one that decides. */
  readonly words: readonly RuleWord[];
  /** Which rule decides; undefined where the default does. */
  readonly deciding: number | undefined;
  /** An approve would be a `refer`, because something could not be told before it was come to. */
  readonly isUncertain: boolean;
}

/** Why the rules decide a case as they do. */
export function explainRules(policy: PolicyRules, facts: CaseFacts): Explanation {
  const { rules } = policy;
  const judged = rules.map((rule) => judge(rule, facts));
  const found = judged.findIndex(({ holds }) => holds);
  const asked = found < 0 ? judged : judged.slice(0, found + 1);
  return {
    ruling: evaluateRules(policy, facts),
    words: rules.map(({ when }, index) => ({
      says: judged[index]!.holds ? 'holds' : judged[index]!.leavesDoubt ? 'cannot_tell' : 'does_not_hold',
      missing: [...new Set(missingFacts(when, facts))],
    })),
    deciding: found < 0 ? undefined : found,
    isUncertain: asked.some(({ leavesDoubt }) => leavesDoubt),
  };
}

type Rule = PolicyRules['rules'][number];

const rulingOf = ({ decision, reason_codes }: Rule): Ruling => ({ decision, reason_codes });

function judge({ when, decision }: Rule, facts: CaseFacts): { readonly holds: boolean; readonly leavesDoubt: boolean } {
  const isMissing = missingFacts(when, facts).length > 0;
  const answer = isMissing && decision === 'approve' ? undefined : answerOf(when, facts);
  return {
    holds: answer !== undefined && matches(answer, decision),
    leavesDoubt: answer === undefined || answer.searchesText || isMissing,
  };
}

function certain(ruling: Ruling, isUncertain: boolean): Ruling {
  return ruling.decision === 'approve' && isUncertain ? MISSING_FACT : ruling;
}

/** Only `true` itself approves; to the rest what JSON Logic calls true is enough. */
function matches({ value, searchesText }: Evaluated, decision: DecisionOutcome): boolean {
  return decision === 'approve' ? value === true && !searchesText : isTruthy(value);
}

/** Undefined where the condition cannot be evaluated: that says nothing about the facts. */
function answerOf(when: JsonValue, facts: CaseFacts): Evaluated | undefined {
  try {
    return evaluateCondition(when, facts);
  } catch (error) {
    if (error instanceof MistypedError) return undefined;
    throw error;
  }
}

/** The facts that the condition names, without a default, and that this case does not have. */
function missingFacts(logic: JsonValue, facts: CaseFacts): string[] {
  if (Array.isArray(logic)) return logic.flatMap((item) => missingFacts(item, facts));
  if (typeof logic !== 'object' || logic === null) return [];
  const [name = '', given = null] = Object.entries(logic)[0] ?? [];
  const parts = partsOf(given);
  const kind = OPERATORS.get(name)?.kind;
  if (kind === 'fact') {
    const fact = String(parts[0]);
    return parts.length === 1 && valueAt(fact, facts) === null ? [fact] : [];
  }
  return parts.flatMap((part, index) => (kind === 'iteration' && index === 1 ? [] : missingFacts(part, facts)));
}
