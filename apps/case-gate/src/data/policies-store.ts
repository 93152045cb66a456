import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import {
  authenticPolicy,
  policyMac,
  policyName,
  versionOfPolicy,
  type StoredPolicy,
} from '../domain/manage-policies.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';

export interface PoliciesStore {
  /** By version, after `after` ('' from the first). */
  list(environment: string, page: { limit: number; after: string }): Promise<StoredPolicy[]>;
  find(environment: string, policyVersion: string): Promise<StoredPolicy | undefined>;
}

/** Without the MAC, as answered to administrators. */
const SHOWN_COLUMNS = `environment, policy_version AS "policyVersion", status, rules, record_version AS "recordVersion",
  created_at AS "createdAt", updated_at AS "updatedAt"`;
const POLICY_COLUMNS = `${SHOWN_COLUMNS}, mac`;

export function policiesStore(sql: Sql): PoliciesStore {
  return {
    list: (environment, { limit, after }) =>
      sql.query<StoredPolicy>({
        text: `SELECT ${SHOWN_COLUMNS} FROM gate.policies WHERE environment = $1 AND policy_version > $2
                ORDER BY policy_version LIMIT $3`,
        values: [environment, after, limit],
      }),
    async find(environment, policyVersion) {
      const text = `SELECT ${SHOWN_COLUMNS} FROM gate.policies WHERE environment = $1 AND policy_version = $2`;
      return (await sql.query<StoredPolicy>({ text, values: [environment, policyVersion] }))[0];
    },
  };
}

export interface PolicyParts {
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
}

/**
 * Undefined where the version exists or once existed: a policy version never changes what it decides, so one whose row
 * is gone is not created again.
 */
export async function insertPolicy(
  sql: RecordingSql,
  policy: StoredPolicy,
  { macs, versions }: PolicyParts,
): Promise<StoredPolicy | undefined> {
  const { environment, policyVersion, status, rules, createdAt, updatedAt, recordVersion } = policy;
  if ((await versions.newest(sql, policyName(policy))) !== undefined) return undefined;
  const mac = policyMac(policy, macs);
  const rows = await sql.query({
    text: `INSERT INTO gate.policies (environment, policy_version, status, rules, created_at, updated_at, record_version, mac)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING 1`,
    values: [environment, policyVersion, status, rules, createdAt, updatedAt, recordVersion, mac],
  });
  if (rows.length === 0) return undefined;
  await sql.enter(versionOfPolicy(policy, mac), 'before the answer');
  return policy;
}

/** Locks the policy for a change, or against changes. */
type PolicyLock = 'FOR UPDATE' | 'FOR SHARE';

/**
 * Reads and locks the policy until the transaction ends.
 * @throws Error where the row fails its MAC, or is older than what the ledger holds.
 */
export async function lockPolicy(
  sql: Sql,
  { environment, policyVersion, lock }: { environment: string; policyVersion: string; lock: PolicyLock },
  { macs, versions }: PolicyParts,
): Promise<StoredPolicy | undefined> {
  const text = `SELECT ${POLICY_COLUMNS} FROM gate.policies WHERE environment = $1 AND policy_version = $2 ${lock}`;
  const [row] = await sql.query<StoredPolicy & { mac: string }>({ text, values: [environment, policyVersion] });
  if (row === undefined) return undefined;
  const policy = authenticPolicy(row, macs);
  if (!(await versions.isContradicted(sql, versionOfPolicy(policy, row.mac)))) return policy;
  throw new Error(`The row of the policy version ${policyVersion} is older than what the ledger holds.`);
}

/** Writes the next version of a locked policy. */
export async function savePolicy(
  sql: RecordingSql,
  policy: StoredPolicy,
  macs: KeyedHasher,
  urgency: Urgency = 'before the answer',
): Promise<void> {
  const { environment, policyVersion, status, rules, updatedAt, recordVersion } = policy;
  const mac = policyMac(policy, macs);
  await sql.query({
    text: `UPDATE gate.policies SET status = $3, rules = $4, updated_at = $5, record_version = $6, mac = $7
            WHERE environment = $1 AND policy_version = $2`,
    values: [environment, policyVersion, status, rules, updatedAt, recordVersion, mac],
  });
  await sql.enter(versionOfPolicy(policy, mac), urgency);
}
