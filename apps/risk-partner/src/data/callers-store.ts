import { callersByHash, liveKeyCondition, type CallersByHash } from '@sealgate/api-keys';
import type { Sql } from '@sealgate/storage';
import { effectiveScope, type Credential, type RiskCaller } from '../domain/caller.ts';
import { ROLES } from '../domain/permissions.ts';

/** What a caller is made of, besides how they came in. */
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
 * Whose live key has a hash, as long as the person is in the organisation. Key, membership, roles and scope are one row,
 * looked up on every request: a revocation, a removal or a change of roles acts at once on every replica.
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
  // A role that this version does not know grants nothing.
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
