import type { JsonValue } from '@sealgate/json';
import type { CaseFacts } from './case-facts.ts';
import type { DecisionOutcome } from './case-record.ts';
import {
  evaluateCondition,
  isTruthy,
  MistypedError,
  OPERATORS,
  partsOf,
  valueAt,
  type Evaluated,
} from './policy-operators.ts';
import type { PolicyRules, Ruling } from './policy.ts';

/** Replaces an approve where a fact that an earlier rule names is missing. */
const MISSING_FACT: Ruling = { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] };

/**
 * The ruling: of the first rule whose condition holds, else the default.
 *
 * A missing fact never approves. An approving rule that names one does not match, nor does any rule with values of the
 * wrong type; where a rule was passed over for that, a later approve becomes a `refer`. A fact for which `var` gives a
 * default is not missing. The same holds for a substring search (`in` over a text), which earlier policies may contain,
 * in any rule: a negative result is no more reliable than a positive one.
 */
export function evaluateRules({ rules, default: otherwise }: PolicyRules, facts: CaseFacts): Ruling {
  let isUncertain = false;
  for (const rule of rules) {
    const { holds, leavesDoubt } = evaluateRule(rule, facts);
    isUncertain ||= leavesDoubt;
    if (holds) return certain(rulingOf(rule), isUncertain);
  }
  return certain(otherwise, isUncertain);
}

/** The result of one rule for a case. */
export interface RuleResult {
  /** `cannot_tell`: a fact that it names is missing, has the wrong type, or is searched for in a text. */
  readonly says: 'holds' | 'does_not_hold' | 'cannot_tell';
  /** Facts that it names without a default and that the case does not have. */
  readonly missing: readonly string[];
}

export interface Explanation {
  /** As returned by `evaluateRules`. */
  readonly ruling: Ruling;
  /** Results of all rules, including those after the one that decides. */
  readonly results: readonly RuleResult[];
  /** Index of the rule that decides; undefined where the default does. */
  readonly deciding: number | undefined;
  /** An approve became or would become a `refer`, because an earlier rule could not be evaluated. */
  readonly isUncertain: boolean;
}

/** Explains the ruling of a case. */
export function explainRules(policy: PolicyRules, facts: CaseFacts): Explanation {
  const { rules } = policy;
  const checked = rules.map((rule) => evaluateRule(rule, facts));
  const found = checked.findIndex(({ holds }) => holds);
  const asked = found < 0 ? checked : checked.slice(0, found + 1);
  return {
    ruling: evaluateRules(policy, facts),
    results: rules.map(({ when }, index) => ({
      says: checked[index]!.holds ? 'holds' : checked[index]!.leavesDoubt ? 'cannot_tell' : 'does_not_hold',
      missing: [...new Set(missingFacts(when, facts))],
    })),
    deciding: found < 0 ? undefined : found,
    isUncertain: asked.some(({ leavesDoubt }) => leavesDoubt),
  };
}

type Rule = PolicyRules['rules'][number];

const rulingOf = ({ decision, reason_codes }: Rule): Ruling => ({ decision, reason_codes });

function evaluateRule(
  { when, decision }: Rule,
  facts: CaseFacts,
): { readonly holds: boolean; readonly leavesDoubt: boolean } {
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

/** An approve needs `true` itself; for others any truthy value matches. */
function matches({ value, searchesText }: Evaluated, decision: DecisionOutcome): boolean {
  return decision === 'approve' ? value === true && !searchesText : isTruthy(value);
}

/** Undefined where the condition cannot be evaluated. */
function answerOf(when: JsonValue, facts: CaseFacts): Evaluated | undefined {
  try {
    return evaluateCondition(when, facts);
  } catch (error) {
    if (error instanceof MistypedError) return undefined;
    throw error;
  }
}

/** The facts that the condition names without a default and that the case does not have. */
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
