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
  ends_at: Date | null;
  version: string;
}

const text = `SELECT c.key_hash, c.id, c.family_id, c.owner_id, c.grants, c.channels, c.rate_per_second, c.burst,
         least(c.expires_at, c.overlap_until) AS ends_at, hash_record_extended(c, 0)::text AS version
    FROM ingest.callers c
   WHERE c.key_hash = ANY ($1) AND ${liveKeyCondition('c', '$2')}`;

/** The live key with a hash and its network. The version is the one by which `confirm_guards` confirms it. */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<IngestCaller> {
  const endsAtMs = ({ ends_at: endsAt }: CallerRow) => endsAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return callersByHash({ ...options, statement: { name: 'ingest callers', text }, callerOf, endsAtMs });
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
    guard: { kind: 'key', id: row.id, version: row.version },
  };
}
