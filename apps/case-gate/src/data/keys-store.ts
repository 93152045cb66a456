import type { ApiKeyRow, ApiKeys } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import { signGrants, type KeyGrants, type KeyIdentity, type Scope } from '../domain/key-grants.ts';

interface Order {
  readonly environment: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
  readonly replaces?: string;
  readonly overlapSeconds?: number;
}

/** Mints a key whose grants are authenticated: a key that was put into the table by hand opens nothing. */
export async function mintSignedKey(
  keys: ApiKeys<KeyGrants>,
  macs: KeyedHasher,
  { sql, order }: { sql: Sql; order: Order },
): Promise<ApiKeyRow<KeyGrants> & { readonly rawKey: string }> {
  const { environment, scopes, ...rest } = order;
  const minted = await keys.mint({ ...rest, ownerId: environment, grants: { scopes, mac: '' } }, sql);
  const grants = signGrants(identityOf(minted, sha256(minted.rawKey)), { scopes }, macs);
  await setGrants(sql, minted.id, grants);
  return { ...minted, grants };
}

/** Revokes a key, also in what its grants say. */
export async function revokeSignedKey(
  keys: ApiKeys<KeyGrants>,
  macs: KeyedHasher,
  { sql, environment, id }: { sql: Sql; environment: string; id: string },
): Promise<'revoked' | 'already' | 'missing'> {
  const outcome = await keys.revoke(environment, id, sql);
  const row = outcome === 'revoked' ? await keys.get(environment, id, sql) : undefined;
  if (row === undefined) return outcome;
  const { scopes } = row.grants;
  // The hash of the key is not read for this: an ended key needs no identity beyond its id.
  await setGrants(sql, id, signGrants(identityOf(row, Buffer.alloc(0)), { scopes, ended: true }, macs));
  return outcome;
}

function identityOf(row: ApiKeyRow<KeyGrants>, keyHash: Buffer): KeyIdentity {
  const { id, ownerId: environment, familyId, label, keyPrefix, createdAt, expiresAt, replaces } = row;
  return { id, environment, familyId, label, keyPrefix, keyHash, createdAt, expiresAt, replaces };
}

async function setGrants(sql: Sql, id: string, grants: KeyGrants): Promise<void> {
  await sql.query({ text: 'UPDATE gate.api_keys SET grants = $2 WHERE id = $1', values: [id, JSON.stringify(grants)] });
}

export async function environmentOfKey(sql: Sql, id: string): Promise<string | undefined> {
  const text = 'SELECT owner_id FROM gate.api_keys WHERE id = $1';
  return (await sql.query<{ owner_id: string }>({ text, values: [id] }))[0]?.owner_id;
}
