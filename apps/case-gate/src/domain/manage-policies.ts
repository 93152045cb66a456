import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Policy } from './case-record.ts';
import { notNow } from './case-states.ts';
import { isAuthentic } from './eligibility-record.ts';
import type { PolicyRules } from './policy-rules.ts';
import { ruleFaults } from './rule-faults.ts';
import { versionOfRow, type VersionedRecord } from './versioned-record.ts';

export type PolicyStatus = Policy['status'];

export interface StoredPolicy extends Policy {
  readonly environment: string;
  /** Each change is one more; 0 for what was made before policies had versions. */
  readonly recordVersion: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface PolicyChange {
  readonly status?: PolicyStatus;
  readonly rules?: PolicyRules | null;
}

/** Draft, then active, then retired for good. */
const NEXT: Readonly<Record<PolicyStatus, PolicyStatus | undefined>> = {
  draft: 'active',
  active: 'retired',
  retired: undefined,
};

/**
 * What a change leaves of a policy. Its rules are frozen once it has left draft.
 * @throws AppError IN_USE, INVALID_STATE_TRANSITION with `current_status`, INVALID_REQUEST.
 */
export function changedPolicy(
  policy: Pick<StoredPolicy, 'status' | 'rules'>,
  { status, rules }: PolicyChange,
): Pick<StoredPolicy, 'status' | 'rules'> {
  const text = rules === undefined ? policy.rules : rulesText(rules);
  if (text !== policy.rules && policy.status !== 'draft') {
    throw new AppError('IN_USE', 'The rules of a policy version are frozen once it has left draft.');
  }
  if (status === undefined || status === policy.status) return { status: policy.status, rules: text };
  if (NEXT[policy.status] !== status) throw notNow(policy.status);
  return { status, rules: text };
}

/** The stored form of rules. @throws AppError INVALID_REQUEST naming everything in them that cannot be evaluated. */
export function rulesText(rules: PolicyRules | null): string | null {
  if (rules === null) return null;
  const faults = ruleFaults(rules);
  if (faults.length === 0) return JSON.stringify(rules);
  throw new AppError('INVALID_REQUEST', 'The rules cannot be evaluated; errors lists every fault.', {
    faults: faults.slice(0, 100).map(({ pointer, detail }) => ({ in: 'body', pointer: `/rules${pointer}`, detail })),
  });
}

/** The MAC over every column, as `<secretId>:<base64url>`. */
export function policyMac(policy: StoredPolicy, macs: KeyedHasher): string {
  const { id, digest } = macs.hash(...partsOf(policy));
  return `${id}:${digest.toString('base64url')}`;
}

/** The policy of a row. @throws Error where the row is not what was written: nothing is decided by it. */
export function authenticPolicy(
  { mac, ...policy }: StoredPolicy & { readonly mac: string },
  macs: KeyedHasher,
): StoredPolicy {
  if (isAuthentic(mac, macs, partsOf(policy))) return policy;
  throw new Error(`The row of the policy version ${policy.policyVersion} is not intact.`);
}

function partsOf(policy: StoredPolicy): string[] {
  const { environment, policyVersion, status, rules, createdAt, updatedAt, recordVersion } = policy;
  const times = [createdAt.toISOString(), updatedAt.toISOString()];
  const version = recordVersion === 0 ? [] : [String(recordVersion)];
  return [environment, policyVersion, status, rules === null ? 'none' : 'rules', rules ?? '', ...times, ...version];
}

/** What the ledger ids of a policy version are made of. */
export function policyName({ environment, policyVersion }: Pick<StoredPolicy, 'environment' | 'policyVersion'>) {
  return ['policy', environment, policyVersion];
}

export function versionOfPolicy(policy: StoredPolicy, mac: string): VersionedRecord {
  const { environment, policyVersion, status, updatedAt, recordVersion } = policy;
  const members = { environment, policy_version: policyVersion, status, updated_at: updatedAt.toISOString(), mac };
  return versionOfRow(policyName(policy), recordVersion, members);
}
