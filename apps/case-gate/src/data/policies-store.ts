import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { authenticPolicy, policyMac, type StoredPolicy } from '../domain/manage-policies.ts';

export interface PoliciesStore {
  /** By version, behind `after` ('' from the first). */
  list(environment: string, page: { limit: number; after: string }): Promise<StoredPolicy[]>;
  find(environment: string, policyVersion: string): Promise<StoredPolicy | undefined>;
}

export function policiesStore(prisma: PrismaClient): PoliciesStore {
  return {
    async list(environment, { limit, after }) {
      const where = { environment, policyVersion: { gt: after } };
      return (
        await prisma.policy.findMany({ where, orderBy: { policyVersion: 'asc' }, take: limit, omit: { mac: true } })
      ).map(policyOf);
    },
    async find(environment, policyVersion) {
      const row = await prisma.policy.findUnique({
        where: { environment_policyVersion: { environment, policyVersion } },
        omit: { mac: true },
      });
      return row === null ? undefined : policyOf(row);
    },
  };
}

function policyOf<Row extends { status: string }>(row: Row): Row & Pick<StoredPolicy, 'status'> {
  return row as Row & Pick<StoredPolicy, 'status'>; // The table takes nothing else.
}

const COLUMNS = `environment, policy_version AS "policyVersion", status, rules, created_at AS "createdAt",
  updated_at AS "updatedAt", mac`;

/** Undefined when the version is there already. */
export async function insertPolicy(
  sql: Sql,
  policy: StoredPolicy,
  macs: KeyedHasher,
): Promise<StoredPolicy | undefined> {
  const { environment, policyVersion, status, rules, createdAt, updatedAt } = policy;
  const rows = await sql.query({
    text: `INSERT INTO gate.policies (environment, policy_version, status, rules, created_at, updated_at, mac)
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING 1`,
    values: [environment, policyVersion, status, rules, createdAt, updatedAt, policyMac(policy, macs)],
  });
  return rows.length === 0 ? undefined : policy;
}

/** What a policy is asked for: to be changed, or so that it stays as it is meanwhile. */
export type PolicyLock = 'FOR UPDATE' | 'FOR SHARE';

/**
 * The policy, held until the transaction ends.
 * @throws Error where the row is not what was written.
 */
export async function lockPolicy(
  sql: Sql,
  { environment, policyVersion, lock }: { environment: string; policyVersion: string; lock: PolicyLock },
  macs: KeyedHasher,
): Promise<StoredPolicy | undefined> {
  const text = `SELECT ${COLUMNS} FROM gate.policies WHERE environment = $1 AND policy_version = $2 ${lock}`;
  const [row] = await sql.query<StoredPolicy & { mac: string }>({ text, values: [environment, policyVersion] });
  return row && authenticPolicy(row, macs);
}

export async function savePolicy(sql: Sql, policy: StoredPolicy, macs: KeyedHasher): Promise<void> {
  const { environment, policyVersion, status, rules, updatedAt } = policy;
  await sql.query({
    text: `UPDATE gate.policies SET status = $3, rules = $4, updated_at = $5, mac = $6
            WHERE environment = $1 AND policy_version = $2`,
    values: [environment, policyVersion, status, rules, updatedAt, policyMac(policy, macs)],
  });
}
