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
export const MISSING_FACT: Ruling = { decision: 'refer', reason_codes: ['ATTRIBUTE_MISSING'] };

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
  for (const { when, ...ruling } of rules) {
    const answer = missesFact(when, facts) && ruling.decision === 'approve' ? undefined : answerOf(when, facts);
    isUncertain ||= answer === undefined || answer.searchesText || missesFact(when, facts);
    if (answer !== undefined && matches(answer, ruling.decision)) return certain(ruling, isUncertain);
  }
  return certain(otherwise, isUncertain);
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

/** Whether the condition names a fact, without a default, that this case does not have. */
function missesFact(logic: JsonValue, facts: CaseFacts): boolean {
  if (Array.isArray(logic)) return logic.some((item) => missesFact(item, facts));
  if (typeof logic !== 'object' || logic === null) return false;
  const [name = '', given = null] = Object.entries(logic)[0] ?? [];
  const parts = partsOf(given);
  const kind = OPERATORS.get(name)?.kind;
  if (kind === 'fact') return parts.length === 1 && valueAt(String(parts[0]), facts) === null;
  return parts.some((part, index) => !(kind === 'iteration' && index === 1) && missesFact(part, facts));
}
