import { liveKeyCondition, TickBatcher } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
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

export interface CallersStore {
  /**
   * Whose live key has this hash, as long as the person is in the organisation; undefined when there is none.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key".
   */
  find(keyHash: Buffer): Promise<RiskCaller | undefined>;
}

const MOST_AT_ONCE = 256;
const RETRY_AFTER_SECONDS = 1;

/**
 * Looks key, membership, roles and scope up on every request, in one row: a revocation, a removal or a change of roles acts
 * at once on every replica, and nothing is cached. All look-ups of one turn of the event loop are one query.
 */
export function callersStore({
  sql,
  now,
  deadlineMs,
}: {
  sql: Sql;
  now: () => number;
  deadlineMs: number;
}): CallersStore {
  const text = `SELECT k.key_hash, k.id, p.person_id, p.org_id, p.roles, p.departments, p.unrestricted, p.can_read_sensitive
      FROM risk.api_keys k JOIN risk.people p ON p.person_id = k.owner_id AND p.removed_at IS NULL
     WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;
  const batcher = new TickBatcher<Buffer, RiskCaller | undefined>(
    async (hashes) => {
      const names = hashes.map((hash) => hash.toString('latin1'));
      const distinct = new Map(names.map((name, position) => [name, hashes[position]!]));
      const values = [[...distinct.values()], new Date(now())];
      const rows = await sql.query<CallerRow>({ name: 'risk callers', text, values }, { deadlineMs });
      const callers = new Map(rows.map((row) => [row.key_hash.toString('latin1'), callerOf(row)]));
      return names.map((name) => callers.get(name));
    },
    { maxBatch: MOST_AT_ONCE, maxRunning: 2 },
  );
  return {
    async find(keyHash) {
      try {
        return await batcher.call(keyHash);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError)) throw error;
        const options = { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error };
        throw new AppError('UNAVAILABLE', 'The key store cannot be reached.', options);
      }
    },
  };
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
