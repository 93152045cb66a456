import { callersByHash, liveKeyCondition, type CallersByHash } from '@sealgate/api-keys';
import type { Sql } from '@sealgate/storage';
import { effectiveScope, type RiskCaller } from '../domain/caller.ts';
import { ROLES } from '../domain/permissions.ts';

interface CallerRow {
  key_hash: Buffer;
  id: string;
  person_id: string;
  org_id: string;
  roles: string[];
  departments: string[];
  unrestricted: boolean;
  can_read_sensitive: boolean;
}

const text = `SELECT k.key_hash, k.id, p.person_id, p.org_id, p.roles, p.departments, p.unrestricted, p.can_read_sensitive
    FROM risk.api_keys k JOIN risk.people p ON p.person_id = k.owner_id AND p.removed_at IS NULL
   WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;

/**
 * Whose live key has a hash, as long as the person is in the organisation. Key, membership, roles and scope are one row,
 * looked up on every request: a revocation, a removal or a change of roles acts at once on every replica.
 */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<RiskCaller> {
  return callersByHash({ ...options, statement: { name: 'risk callers', text }, callerOf });
}

function callerOf(row: CallerRow): RiskCaller {
  // A role that this version does not know grants nothing.
  const roles = ROLES.filter((role) => row.roles.includes(role));
  const { unrestricted, departments, can_read_sensitive: canReadSensitive } = row;
  return {
    keyId: row.id,
    orgId: row.org_id,
    personId: row.person_id,
    roles,
    scope: effectiveScope(roles, { unrestricted, departments, canReadSensitive }),
  };
}
