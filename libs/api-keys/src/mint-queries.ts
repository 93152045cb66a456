import assert from 'node:assert/strict';
import type { Sql } from '@sealgate/storage';
import type { ApiKeyRow } from './api-keys.ts';
import { KEY_COLUMNS, keyTable } from './key-queries.ts';

/** A key as it is inserted: all that is not told is null. */
export interface InsertedKey {
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

/** What is to be known of a key before another one may replace it. */
export interface ReplaceableKey {
  readonly familyId: string;
  readonly revokedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly replaced: boolean;
}

/** The statements of minting; each needs the transaction that the others run in. */
export function mintQueries<Grants>(schema: string) {
  const table = keyTable(schema);
  return {
    /** Until the end of the transaction nobody else mints for this owner. */
    async lockOwner(sql: Sql, ownerId: string): Promise<void> {
      const text = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
      await sql.query({ text, values: [`${table} ${ownerId}`] });
    },

    /** Until the end of the transaction the key is not revoked either. */
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
