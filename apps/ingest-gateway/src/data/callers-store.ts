import { callersByHash, liveKeyCondition, type CallersByHash } from '@sealgate/api-keys';
import type { Sql } from '@sealgate/storage';
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

const text = `SELECT k.key_hash, k.id, k.family_id, k.owner_id, k.grants, n.channels, n.rate_per_second, n.burst
    FROM ingest.api_keys k JOIN ingest.networks n ON n.network_id = k.owner_id AND n.deleted_at IS NULL
   WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;

/** The live key with a hash and its network, looked up on every request. */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<IngestCaller> {
  return callersByHash({ ...options, statement: { name: 'ingest callers', text }, callerOf });
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
