import { callersByHash, liveKeyCondition, type CallersByHash } from '@sealgate/api-keys';
import type { Sql } from '@sealgate/storage';
import { effectiveScope, type Credential, type RiskCaller } from '../domain/caller.ts';
import { ROLES } from '../domain/permissions.ts';

/** The columns of a caller, besides the credential. */
export interface CallerColumns {
  person_id: string;
  org_id: string;
  roles: string[];
  departments: string[];
  unrestricted: boolean;
  can_read_sensitive: boolean;
}

export const CALLER_COLUMNS = 'p.person_id, p.org_id, p.roles, p.departments, p.unrestricted, p.can_read_sensitive';

interface CallerRow extends CallerColumns {
  key_hash: Buffer;
  id: string;
}

const text = `SELECT k.key_hash, k.id, ${CALLER_COLUMNS}
    FROM risk.api_keys k JOIN risk.people p ON p.person_id = k.owner_id AND p.removed_at IS NULL
   WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;

/**
 * The caller of a live key, if the person is a member. Key, membership, roles and scope are read in one row on every
 * request, so a revocation, a removal or a role change takes effect at once on every replica.
 */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<RiskCaller> {
  return callersByHash({
    ...options,
    statement: { name: 'risk callers', text },
    callerOf: (row: CallerRow) => callerOf(row, { kind: 'key', id: row.id }),
  });
}

export function callerOf(row: CallerColumns, credential: Credential): RiskCaller {
  // Roles unknown to this version grant nothing.
  const roles = ROLES.filter((role) => row.roles.includes(role));
  const { unrestricted, departments, can_read_sensitive: canReadSensitive } = row;
  return {
    credential,
    orgId: row.org_id,
    personId: row.person_id,
    roles,
    scope: effectiveScope(roles, { unrestricted, departments, canReadSensitive }),
  };
}
