import { liveKeyCondition, TickBatcher } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { IngestCaller } from '../domain/caller.ts';
import type { KeyGrants } from '../domain/key-grants.ts';

interface CallerRow {
  key_hash: Buffer;
  id: string;
  family_id: string;
  owner_id: string;
  grants: KeyGrants;
  channels: string[];
  rate_per_second: number | null;
  burst: number | null;
}

export interface CallersStore {
  /**
   * The live key with this hash and its network; undefined when there is none.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key".
   */
  find(keyHash: Buffer): Promise<IngestCaller | undefined>;
}

const MOST_AT_ONCE = 256;
const RETRY_AFTER_SECONDS = 1;

/**
 * Looks callers up in the database on every request, because a revocation acts at once on every replica. All
 * look-ups of one turn of the event loop are one query, by one index probe a key.
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
  const text = `SELECT k.key_hash, k.id, k.family_id, k.owner_id, k.grants, n.channels, n.rate_per_second, n.burst
      FROM ingest.api_keys k JOIN ingest.networks n ON n.network_id = k.owner_id AND n.deleted_at IS NULL
     WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;
  const batcher = new TickBatcher<Buffer, IngestCaller | undefined>(
    async (hashes) => {
      const names = hashes.map((hash) => hash.toString('latin1'));
      const distinct = new Map(names.map((name, position) => [name, hashes[position]!]));
      const values = [[...distinct.values()], new Date(now())];
      const rows = await sql.query<CallerRow>({ name: 'ingest callers', text, values }, { deadlineMs });
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

function callerOf(row: CallerRow): IngestCaller {
  const { rate_per_second: ratePerSecond, burst } = row;
  return {
    keyId: row.id,
    familyId: row.family_id,
    networkId: row.owner_id,
    channels: row.channels,
    grants: row.grants,
    networkLimits: ratePerSecond === null || burst === null ? undefined : { ratePerSecond, burst },
  };
}
