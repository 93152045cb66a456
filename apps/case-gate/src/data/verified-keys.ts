import type { KeyedHasher } from '@sealgate/auth';
import { areGrantsValid, type Scope } from '../domain/key-grants.ts';

/** What one row of the look-up says of a key. */
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
  readonly replaces: string | null;
}

/** The scopes of an authentic key; undefined for every other. */
export type KeyVerifier = (row: KeyRow) => readonly Scope[] | undefined;

/**
 * Verifies the keys of one answer of the database, in which many rows are of the same key: one that is the same in every
 * column as the row before of its id is not verified again. `onCorrupt` is told of each row all the same.
 */
export function keyVerifier(macs: KeyedHasher, onCorrupt: (id: string) => void): KeyVerifier {
  const known = new Map<string, { readonly row: KeyRow; readonly scopes: readonly Scope[] | undefined }>();
  return (row) => {
    const last = known.get(row.id);
    const scopes = last !== undefined && isSame(last.row, row) ? last.scopes : verify(row, macs);
    if (last === undefined || last.row !== row) known.set(row.id, { row, scopes });
    if (scopes === undefined) onCorrupt(row.id);
    return scopes;
  };
}

function verify(row: KeyRow, macs: KeyedHasher): readonly Scope[] | undefined {
  const { id, owner_id: environment, family_id: familyId, label, key_prefix: keyPrefix, replaces } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at };
  const identity = { id, environment, familyId, label, keyPrefix, keyHash: row.key_hash, replaces, ...times };
  const grants: unknown = JSON.parse(row.grants);
  return areGrantsValid(identity, grants, macs) ? grants.scopes : undefined;
}

function isSame(a: KeyRow, b: KeyRow): boolean {
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
    a.key_hash.equals(b.key_hash)
  );
}
