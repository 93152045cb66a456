import { AppError } from '@sealgate/errors';
import type { FinalDecision, Policy } from './case-record.ts';
import type { CaseFacts } from './policy-operators.ts';
import { explainRules, type PolicyRules, type RuleWord, type Ruling } from './policy-rules.ts';

/** A case as it was decided last, and what rules may look at in it. */
export interface DecidedCase {
  readonly caseId: string;
  readonly subjectRef: string;
  readonly policyVersion: string;
  readonly decidedAt: Date;
  readonly was: { readonly decision: FinalDecision; readonly reasonCodes: readonly string[] };
  readonly facts: CaseFacts;
}

export interface TriedCase extends Omit<DecidedCase, 'facts'> {
  readonly wouldBe: Ruling;
  readonly changes: boolean;
  readonly words: readonly RuleWord[];
}

export interface TryPorts {
  /** The cases of the environment that were decided last, newest first, at most so many. */
  readonly lastDecided: (environment: string, limit: number) => Promise<readonly DecidedCase[]>;
  /** Lets whatever waits go first: a try must be in the way of no check of the gate. */
  readonly nextTurn: () => Promise<void>;
}

/** The rules of a version. @throws AppError UNKNOWN_POLICY_VERSION where it has none. */
export function rulesOf(policy: Pick<Policy, 'rules'> | undefined): PolicyRules {
  if (policy === undefined) throw new AppError('UNKNOWN_POLICY_VERSION', 'There is no such policy version.');
  if (policy.rules !== null) return JSON.parse(policy.rules) as PolicyRules; // It was checked when it was made.
  throw new AppError('UNKNOWN_POLICY_VERSION', 'The policy version has no rules: a person decides under it.');
}

/**
 * What would have become of the cases that were decided last under these rules. Nothing is written. A case is looked at as it
 * is now: what is decided by does not change behind a decision.
 */
export async function tryPolicy(
  { lastDecided, nextTurn }: TryPorts,
  { environment, rules, limit }: { readonly environment: string; readonly rules: PolicyRules; readonly limit: number },
): Promise<TriedCase[]> {
  const tried: TriedCase[] = [];
  for (const { facts, ...decided } of await lastDecided(environment, limit)) {
    await nextTurn();
    const { ruling, words } = explainRules(rules, facts);
    tried.push({ ...decided, wouldBe: ruling, changes: ruling.decision !== decided.was.decision, words });
  }
  return tried;
}
