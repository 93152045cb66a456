import type { KeyedHasher } from '@sealgate/auth';
import { authenticGrants, type KeyGrants, type KeyState } from '../domain/key-grants.ts';

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

/** The grants of an authentic key; undefined for every other. */
export type KeyVerifier = (row: KeyRow) => KeyGrants | undefined;

/**
 * Verifies the keys of one answer of the database, in which many rows are of the same key: one that is the same in every
 * column as the row before of its id is not verified again. `onCorrupt` is told of each row all the same.
 */
export function keyVerifier(macs: KeyedHasher, onCorrupt: (id: string) => void): KeyVerifier {
  const known = new Map<string, { readonly row: KeyRow; readonly grants: KeyGrants | undefined }>();
  return (row) => {
    const last = known.get(row.id);
    const grants =
      last !== undefined && isSameKey(last.row, row)
        ? last.grants
        : authenticGrants(keyStateOf(row), JSON.parse(row.grants), macs);
    if (last === undefined || last.row !== row) known.set(row.id, { row, grants });
    if (grants === undefined) onCorrupt(row.id);
    return grants;
  };
}

export function keyStateOf(row: KeyRow): KeyState {
  const { id, owner_id: environment, family_id: familyId, label, key_prefix: keyPrefix, replaces } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at, overlapUntil: row.overlap_until };
  return { id, environment, familyId, label, keyPrefix, keyHash: row.key_hash, replaces, ...times, revokedAt: null };
}

/** Whether two rows are the same in every column that decides. */
export function isSameKey(a: KeyRow, b: KeyRow): boolean {
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
