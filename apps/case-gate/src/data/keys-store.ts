import type { ApiKeys } from '@sealgate/api-keys';
import type { ApiKeyRow, KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Sql } from '@sealgate/storage';
import {
  authenticGrants,
  keyName,
  keyVersion,
  signGrants,
  type KeyGrants,
  type KeyState,
  type Scope,
} from '../domain/key-grants.ts';
import { versionOfRow } from '../domain/versioned-record.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';

interface Order {
  readonly environment: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

interface KeyParts {
  readonly keys: ApiKeys<KeyGrants>;
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
  /** Milliseconds since the epoch, whole. */
  readonly now: () => number;
}

type StoredKey = KeyState & { readonly grants: unknown };

/**
 * Mints a key with an authenticated row: a key inserted by hand is never valid. A replaced key gets a version with its
 * end.
 * @throws AppError as `ApiKeys.mint` does; NOT_FOUND also where the row to be replaced fails its integrity check.
 */
export async function mintSignedKey(
  { keys, macs, versions }: KeyParts,
  { sql, order }: { sql: RecordingSql; order: Order },
): Promise<ApiKeyRow<KeyGrants> & { readonly rawKey: string }> {
  const { environment, scopes, ...rest } = order;
  const minted = await keys.mint({ ...rest, ownerId: environment, grants: { scopes, version: 0, mac: '' } }, sql);
  const made = await lockKey(sql, minted.id);
  if (made === undefined) throw new Error('The minted key was not found.');
  const grants = await saveKey(sql, made, { scopes, version: 1, macs });
  const replaced = order.replaces === undefined ? undefined : await lockKey(sql, order.replaces);
  if (replaced !== undefined) {
    const before = { ...replaced, overlapUntil: null };
    const known = await verifiedGrants(sql, before, { macs, versions });
    // Never sign a row written by somebody else. The transaction is rolled back.
    if (known === undefined) throw new AppError('NOT_FOUND', 'There is no such live key to replace.');
    await saveKey(sql, replaced, { scopes: known.scopes, version: known.version + 1, macs });
  }
  return { ...minted, grants };
}

/**
 * Revokes a key in its row and in the ledger. Also accepts a corrupt row, which is safe whatever its content, and a
 * missing row of a key that the ledger knows, so that restoring the row does not restore the key.
 */
export async function revokeSignedKey(
  { macs, versions, now }: KeyParts,
  { sql, environment, id }: { sql: RecordingSql; environment: string; id: string },
): Promise<'revoked' | 'already' | 'missing'> {
  const key = await lockKey(sql, id);
  const at = new Date(now());
  if (key === undefined) {
    const newest = await versions.newest(sql, keyName(id));
    if (newest === undefined) return 'missing';
    const members = { key_id: id, revoked_at: at.toISOString() };
    await sql.enter(versionOfRow(keyName(id), newest + 1, members), 'before the answer');
    return 'revoked';
  }
  if (key.environment !== environment) return 'missing';
  const known = await verifiedGrants(sql, key, { macs, versions });
  if (known !== undefined && key.revokedAt !== null) {
    await sql.enter(keyVersion(key, known), 'before the answer');
    return 'already';
  }
  const last = known === undefined ? await versions.newest(sql, keyName(id)) : known.version;
  const next = { scopes: known?.scopes ?? [], version: (last ?? 0) + 1, macs };
  await saveKey(sql, { ...key, revokedAt: key.revokedAt ?? at }, next);
  return 'revoked';
}

/**
 * Signs a key again with the current secret. Returns its version; undefined where there is no such key.
 * @throws Error where the row fails its MAC, or is older than what the ledger holds.
 */
export async function remakeKey(
  { macs, versions }: Omit<KeyParts, 'keys' | 'now'>,
  sql: RecordingSql,
  { id, urgency }: { readonly id: string; readonly urgency: Urgency },
) {
  const key = await lockKey(sql, id);
  if (key === undefined) return undefined;
  const known = await verifiedGrants(sql, key, { macs, versions });
  if (known === undefined) throw new Error(`The row of the key ${id} failed its integrity check.`);
  const version = known.version + 1;
  await saveKey(sql, key, { scopes: known.scopes, version, macs, urgency });
  return version;
}

async function verifiedGrants(
  sql: Sql,
  key: StoredKey,
  { macs, versions }: Pick<KeyParts, 'macs' | 'versions'>,
): Promise<KeyGrants | undefined> {
  const grants = authenticGrants(key, key.grants, macs);
  if (grants === undefined || (await versions.isContradicted(sql, keyVersion(key, grants)))) return undefined;
  return grants;
}

/** Columns of `gate.api_keys`, aliased to the members of `KeyState`. */
const KEY_STATE_COLUMNS = `id, owner_id AS environment, family_id AS "familyId", label, key_prefix AS "keyPrefix",
  key_hash AS "keyHash", created_at AS "createdAt", expires_at AS "expiresAt", replaces, overlap_until AS "overlapUntil",
  revoked_at AS "revokedAt", grants`;

async function lockKey(sql: Sql, id: string): Promise<StoredKey | undefined> {
  const text = `SELECT ${KEY_STATE_COLUMNS} FROM gate.api_keys WHERE id = $1 FOR UPDATE`;
  return (await sql.query<StoredKey>({ text, values: [id] }))[0];
}

interface NextVersion {
  readonly scopes: readonly Scope[];
  readonly version: number;
  readonly macs: KeyedHasher;
  readonly urgency?: Urgency;
}

/** Writes the next version of a key to its row and the ledger. */
async function saveKey(
  sql: RecordingSql,
  key: KeyState,
  { scopes, version, macs, urgency = 'before the answer' }: NextVersion,
): Promise<KeyGrants> {
  const grants = signGrants(key, { scopes, version }, macs);
  await sql.query({
    text: 'UPDATE gate.api_keys SET grants = $2, revoked_at = $3 WHERE id = $1',
    values: [key.id, JSON.stringify(grants), key.revokedAt],
  });
  await sql.enter(keyVersion(key, grants), urgency);
  return grants;
}

export async function environmentOfKey(sql: Sql, id: string): Promise<string | undefined> {
  const text = 'SELECT owner_id FROM gate.api_keys WHERE id = $1';
  return (await sql.query<{ owner_id: string }>({ text, values: [id] }))[0]?.owner_id;
}
