import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@sealgate/errors';
import type { CaseFacts } from './case-facts.ts';
import type { CaseRecord, Decision } from './case-record.ts';
import { invalidTransition } from './case-states.ts';
import { explainRules, type RuleResult } from './policy-rules.ts';
import type { Policy, PolicyRules, Ruling } from './policy.ts';
import { ruleFaults } from './rule-faults.ts';

interface Change {
  readonly status?: Policy['status'];
  readonly rules?: PolicyRules | null;
}

/** Draft, then active, then retired, which is final. */
const NEXT: Readonly<Record<Policy['status'], Policy['status'] | undefined>> = {
  draft: 'active',
  active: 'retired',
  retired: undefined,
};

/**
 * Applies a change to a policy. The rules are frozen once it has left draft.
 * @throws AppError IN_USE, INVALID_STATE_TRANSITION with `current_status`, INVALID_REQUEST.
 */
export function changedPolicy(
  policy: Pick<Policy, 'status' | 'rules'>,
  { status, rules }: Change,
): Pick<Policy, 'status' | 'rules'> {
  // In any order of members, and whatever today's checks say of them: repeating them changes nothing.
  const repeats = policy.rules !== null && isDeepStrictEqual(rules, JSON.parse(policy.rules));
  const text = rules === undefined || repeats ? policy.rules : rulesText(rules);
  if (text !== policy.rules && policy.status !== 'draft') {
    throw new AppError('IN_USE', 'The rules of a policy version are frozen once it has left draft.');
  }
  if (status === undefined || status === policy.status) return { status: policy.status, rules: text };
  if (NEXT[policy.status] !== status) throw invalidTransition(policy.status);
  return { status, rules: text };
}

/** The stored form of rules. @throws AppError INVALID_REQUEST listing everything that cannot be evaluated. */
export function rulesText(rules: PolicyRules | null): string | null {
  if (rules === null) return null;
  const faults = ruleFaults(rules);
  if (faults.length === 0) return JSON.stringify(rules);
  throw new AppError('INVALID_REQUEST', 'The rules cannot be evaluated; errors lists every fault.', {
    faults: faults.slice(0, 100).map(({ pointer, detail }) => ({ in: 'body', pointer: `/rules${pointer}`, detail })),
  });
}

/** A decided case and its facts. */
export interface DecidedCase
  extends Pick<Decision, 'case_id' | 'policy_version' | 'decided_at'>, Pick<CaseRecord, 'subject_ref'> {
  readonly was: Ruling;
  readonly facts: CaseFacts;
}

export interface TriedCase extends Omit<DecidedCase, 'facts'> {
  readonly wouldBe: Ruling;
  readonly changes: boolean;
  readonly results: readonly RuleResult[];
}

export interface TryPorts {
  /** The most recently decided cases of the environment, newest first. */
  readonly lastDecided: (environment: string, limit: number) => Promise<readonly DecidedCase[]>;
  /** Yields to other work, so that a trial does not delay checks of the gate. */
  readonly nextTurn: () => Promise<void>;
}

/** The rules of a version. @throws AppError UNKNOWN_POLICY_VERSION where it has none. */
export function rulesOf(policy: Pick<Policy, 'rules'> | undefined): PolicyRules {
  if (policy === undefined) throw new AppError('UNKNOWN_POLICY_VERSION', 'There is no such policy version.');
  if (policy.rules !== null) return JSON.parse(policy.rules) as PolicyRules; // Validated when it was created.
  throw new AppError('UNKNOWN_POLICY_VERSION', 'The policy version has no rules: each decision names its outcome.');
}

/**
 * Applies rules to the most recently decided cases, without writing anything. Uses the case as it is now, which is what
 * it was at its decision.
 */
export async function tryPolicy(
  { lastDecided, nextTurn }: TryPorts,
  { environment, rules, limit }: { readonly environment: string; readonly rules: PolicyRules; readonly limit: number },
): Promise<TriedCase[]> {
  const tried: TriedCase[] = [];
  for (const { facts, ...decided } of await lastDecided(environment, limit)) {
    await nextTurn();
    const { ruling, results } = explainRules(rules, facts);
    tried.push({ ...decided, wouldBe: ruling, changes: ruling.decision !== decided.was.decision, results });
  }
  return tried;
}
