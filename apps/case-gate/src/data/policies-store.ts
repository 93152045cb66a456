import type { Sql } from '@sealgate/storage';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { StoredPolicy } from '../domain/manage-policies.ts';

export interface PoliciesStore {
  /** By version, behind `after` ('' from the first). */
  list(environment: string, page: { limit: number; after: string }): Promise<StoredPolicy[]>;
  find(environment: string, policyVersion: string): Promise<StoredPolicy | undefined>;
}

export function policiesStore(prisma: PrismaClient): PoliciesStore {
  return {
    async list(environment, { limit, after }) {
      const where = { environment, policyVersion: { gt: after } };
      return (await prisma.policy.findMany({ where, orderBy: { policyVersion: 'asc' }, take: limit })).map(policyOf);
    },
    async find(environment, policyVersion) {
      const row = await prisma.policy.findUnique({
        where: { environment_policyVersion: { environment, policyVersion } },
      });
      return row === null ? undefined : policyOf(row);
    },
  };
}

function policyOf<Row extends { status: string }>(row: Row): Row & Pick<StoredPolicy, 'status'> {
  return row as Row & Pick<StoredPolicy, 'status'>; // The table takes nothing else.
}

const COLUMNS = `environment, policy_version AS "policyVersion", status, rules, created_at AS "createdAt",
  updated_at AS "updatedAt"`;

/** Undefined when the version is there already. */
export async function insertPolicy(sql: Sql, policy: StoredPolicy): Promise<StoredPolicy | undefined> {
  const { environment, policyVersion, status, rules, createdAt, updatedAt } = policy;
  const [row] = await sql.query<StoredPolicy>({
    text: `INSERT INTO gate.policies (environment, policy_version, status, rules, created_at, updated_at)
           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    values: [environment, policyVersion, status, rules, createdAt, updatedAt],
  });
  return row;
}

/** The policy, held until the transaction ends. */
export async function lockPolicy(
  sql: Sql,
  environment: string,
  policyVersion: string,
): Promise<StoredPolicy | undefined> {
  const text = `SELECT ${COLUMNS} FROM gate.policies WHERE environment = $1 AND policy_version = $2 FOR UPDATE`;
  return (await sql.query<StoredPolicy>({ text, values: [environment, policyVersion] }))[0];
}

export async function savePolicy(sql: Sql, policy: StoredPolicy): Promise<void> {
  const { environment, policyVersion, status, rules, updatedAt } = policy;
  await sql.query({
    text: `UPDATE gate.policies SET status = $3, rules = $4, updated_at = $5 WHERE environment = $1 AND policy_version = $2`,
    values: [environment, policyVersion, status, rules, updatedAt],
  });
}
