import {
  authenticGrants,
  keyName,
  keyVersion,
  type KeyGrants,
  type KeyState,
  type GateCaller,
} from '../domain/key-grants.ts';
import { seenName } from '../domain/versioned-record.ts';
import type { FactOptions, PendingCheck } from './entry-facts.ts';
import type { Known } from './known-rows.ts';

/** Key columns of the look-up, which returns live keys only. */
export interface KeyRow {
  readonly key_hash: Buffer;
  readonly id: string;
  readonly owner_id: string;
  readonly family_id: string;
  readonly label: string;
  readonly key_prefix: string;
  /** JSON text. */
  readonly grants: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly overlap_until: Date | null;
  readonly replaces: string | null;
}

/** A key whose row is authentic and not older than what was seen or what the ledger holds. */
export interface VerifiedKey extends Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes'> {
  /** Whether the key was known when the question was sent and every column is unchanged. */
  readonly isKnown: boolean;
  readonly pendingCheck?: PendingCheck;
}

/** Undefined for a corrupt key, which is reported. */
export function verifiedKey(
  row: KeyRow,
  cached: Known<KeyRow, KeyGrants> | undefined,
  options: FactOptions,
): VerifiedKey | undefined {
  const checked = checkKey(row, cached, options);
  if (checked === 'corrupt') options.onCorrupt(`key ${row.id}`);
  return checked === 'corrupt' ? undefined : checked;
}

function checkKey(
  row: KeyRow,
  cached: Known<KeyRow, KeyGrants> | undefined,
  { macs, seen, known, mark, isOutdated }: FactOptions,
): VerifiedKey | 'corrupt' {
  const name = seenName(keyName(row.id));
  const hash = row.key_hash.toString('latin1');
  const isKnown = cached !== undefined && isSameKey(cached.row, row);
  const grants = isKnown ? cached.value : authenticGrants(keyStateOf(row), JSON.parse(row.grants), macs.keys);
  if (grants === undefined) return 'corrupt';
  const { version = 0, scopes } = grants;
  if (isKnown && isOutdated(cached)) {
    known.keys.delete(hash);
    seen.see(name, version + 1);
    return 'corrupt';
  }
  if (version < seen.highestBefore(mark, name)) return 'corrupt';
  const key = { keyId: row.id, familyId: row.family_id, environment: row.owner_id, scopes, isKnown };
  if (isKnown) return key;
  seen.see(name, version);
  const own = ownColumns(row);
  const remember = (nextIds: readonly string[]) => void known.keys.set(hash, { row: own, value: grants, nextIds });
  return { ...key, pendingCheck: { record: keyVersion(keyStateOf(row), grants), remember } };
}

/** Copies the row without the other columns of the look-up. */
function ownColumns(row: KeyRow): KeyRow {
  const { key_hash, id, owner_id, family_id, label, key_prefix, grants, replaces } = row;
  const { created_at, expires_at, overlap_until } = row;
  return {
    key_hash,
    id,
    owner_id,
    family_id,
    label,
    key_prefix,
    grants,
    created_at,
    expires_at,
    overlap_until,
    replaces,
  };
}

function keyStateOf(row: KeyRow): KeyState {
  const { id, owner_id: environment, family_id: familyId, label, key_prefix: keyPrefix, replaces } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at, overlapUntil: row.overlap_until };
  return { id, environment, familyId, label, keyPrefix, keyHash: row.key_hash, replaces, ...times, revokedAt: null };
}

/** Whether both rows are equal in every column that decides. */
function isSameKey(a: KeyRow, b: KeyRow): boolean {
  return (
    a.id === b.id &&
    a.owner_id === b.owner_id &&
    a.family_id === b.family_id &&
    a.label === b.label &&
    a.key_prefix === b.key_prefix &&
    a.replaces === b.replaces &&
    a.grants === b.grants &&
    a.created_at.getTime() === b.created_at.getTime() &&
    a.expires_at?.getTime() === b.expires_at?.getTime() &&
    a.overlap_until?.getTime() === b.overlap_until?.getTime() &&
    a.key_hash.equals(b.key_hash)
  );
}
