import type { GateCaller } from '../domain/gate-caller.ts';
import { authenticGrants, keyName, keyVersion, type KeyGrants, type KeyState } from '../domain/key-grants.ts';
import { seenName } from '../domain/versioned-record.ts';
import type { FactOptions, Unasked } from './entry-facts.ts';
import type { Known } from './known-rows.ts';

/** What one row of the look-up says of a key. It was live, so nobody has revoked it. */
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

/** A key that is as it was written, and not older than what was seen or what the ledger holds. */
export interface BelievedKey extends Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes'> {
  /** Whether it was known when it was asked about, and is the same in every column. */
  readonly isKnown: boolean;
  readonly unasked?: Unasked;
}

/** Undefined for a key that is not to be believed: a person is told. */
export function believedKey(
  row: KeyRow,
  then: Known<KeyRow, KeyGrants> | undefined,
  options: FactOptions,
): BelievedKey | undefined {
  const judged = judgedKey(row, then, options);
  if (judged === 'corrupt') options.onCorrupt(`key ${row.id}`);
  return judged === 'corrupt' ? undefined : judged;
}

function judgedKey(
  row: KeyRow,
  then: Known<KeyRow, KeyGrants> | undefined,
  { macs, seen, known, mark, isOutdated }: FactOptions,
): BelievedKey | 'corrupt' {
  const name = seenName(keyName(row.id));
  const hash = row.key_hash.toString('latin1');
  const isKnown = then !== undefined && isSameKey(then.row, row);
  const grants = isKnown ? then.value : authenticGrants(keyStateOf(row), JSON.parse(row.grants), macs.keys);
  if (grants === undefined) return 'corrupt';
  const { version = 0, scopes } = grants;
  if (isKnown && isOutdated(then)) {
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
  return { ...key, unasked: { record: keyVersion(keyStateOf(row), grants), remember } };
}

/** The row without what else came with it. */
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

/** Whether two rows are the same in every column that decides. */
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
