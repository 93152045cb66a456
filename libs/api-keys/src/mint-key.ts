import assert from 'node:assert/strict';
import { mintKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Sql } from '@sealgate/storage';
import type { ApiKeyRow, ApiKeysOptions, MintedApiKey, NewApiKey } from './api-keys.ts';
import { KEY_COLUMNS, keyQueries, keyTable } from './key-queries.ts';

const MAX_LIVE_KEYS = 200;

type MintQueries = ReturnType<typeof mintQueries>;

/**
 * Makes a key inside a transaction. Concurrent mints for one owner are serialised, so that neither the limit nor
 * "replaced once" can be bypassed by a race.
 *
 * @throws AppError NOT_FOUND, ALREADY_EXISTS, LIMIT_REACHED, see `ApiKeys.mint`.
 */
export async function mintIn<Grants>(
  sql: Sql,
  key: NewApiKey<Grants>,
  options: Omit<ApiKeysOptions, 'sql'>,
): Promise<MintedApiKey<Grants>> {
  const queries = mintQueries<Grants>(options.schema);
  const { ownerId, label, grants, replaces, overlapSeconds = 0 } = key;
  await queries.lockOwner(sql, ownerId);
  const at = new Date(options.now());
  const id = options.newId('key_');
  const familyId = replaces === undefined ? id : await familyOf(queries, sql, { ownerId, id: replaces, at });
  // A key that ends with its replacement makes room for it.
  const excluding = replaces !== undefined && overlapSeconds === 0 ? { excluding: replaces } : {};
  const live = await keyQueries(options.schema).countLive(sql, { ownerId, at, ...excluding });
  if (live >= MAX_LIVE_KEYS) {
    throw new AppError('LIMIT_REACHED', `There are ${MAX_LIVE_KEYS} live keys; revoke one first.`);
  }
  const { rawKey, keyHash, keyPrefix } = mintKey(options.prefix);
  const row = await queries.insert(sql, {
    id,
    ownerId,
    familyId,
    label,
    keyPrefix,
    keyHash,
    grants,
    createdAt: at,
    expiresAt: key.expiresAt ?? null,
    replaces: replaces ?? null,
  });
  if (replaces !== undefined) {
    await queries.endOverlapAt(sql, replaces, new Date(at.getTime() + overlapSeconds * 1_000));
  }
  return { ...row, rawKey };
}

/** The family that the new key joins. A key past its overlap counts as replaced, not as missing. */
async function familyOf(
  queries: MintQueries,
  sql: Sql,
  key: { ownerId: string; id: string; at: Date },
): Promise<string> {
  const old = await queries.lockReplaceable(sql, key.ownerId, key.id);
  const ended = old === undefined || old.revokedAt !== null || (old.expiresAt !== null && old.expiresAt <= key.at);
  if (ended) throw new AppError('NOT_FOUND', 'There is no such live key to replace.');
  if (old.replaced) throw new AppError('ALREADY_EXISTS', 'The key has been replaced already.');
  return old.familyId;
}

interface InsertedKey {
  readonly id: string;
  readonly ownerId: string;
  readonly familyId: string;
  readonly label: string;
  readonly keyPrefix: string;
  readonly keyHash: Buffer;
  readonly grants: unknown;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly replaces: string | null;
}

interface ReplaceableKey {
  readonly familyId: string;
  readonly revokedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly replaced: boolean;
}

/** The statements of minting, all in one transaction. */
function mintQueries<Grants>(schema: string) {
  const table = keyTable(schema);
  return {
    /** Serialises minting for this owner until the end of the transaction. */
    async lockOwner(sql: Sql, ownerId: string): Promise<void> {
      const text = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
      await sql.query({ text, values: [`${table} ${ownerId}`] });
    },

    /** Locks the row, so that the key is not revoked before the end of the transaction. */
    async lockReplaceable(sql: Sql, ownerId: string, id: string): Promise<ReplaceableKey | undefined> {
      const text = `SELECT k.family_id AS "familyId", k.revoked_at AS "revokedAt", k.expires_at AS "expiresAt",
          EXISTS (SELECT FROM ${table} WHERE replaces = k.id) AS replaced
        FROM ${table} k WHERE k.id = $2 AND k.owner_id = $1 FOR UPDATE OF k`;
      const [row] = await sql.query<ReplaceableKey>({ text, values: [ownerId, id] });
      return row;
    },

    async endOverlapAt(sql: Sql, id: string, at: Date): Promise<void> {
      await sql.query({ text: `UPDATE ${table} SET overlap_until = $2 WHERE id = $1`, values: [id, at] });
    },

    async insert(sql: Sql, key: InsertedKey): Promise<ApiKeyRow<Grants>> {
      const text = `INSERT INTO ${table} AS k (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at,
          expires_at, replaces) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${KEY_COLUMNS}`;
      const { id, ownerId, familyId, label, keyPrefix, keyHash, createdAt, expiresAt, replaces } = key;
      const grants = JSON.stringify(key.grants);
      const values = [id, ownerId, familyId, label, keyPrefix, keyHash, grants, createdAt, expiresAt, replaces];
      const [row] = await sql.query<ApiKeyRow<Grants>>({ text, values });
      assert(row, 'An insert returns its row.');
      return row;
    },
  };
}
