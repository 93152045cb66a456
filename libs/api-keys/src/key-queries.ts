import assert from 'node:assert/strict';
import type { Sql } from '@sealgate/storage';
import type { ApiKeyRow, KeyPage } from './api-keys.ts';

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** The columns of an `ApiKeyRow`; the table's alias is `k`. */
export const KEY_COLUMNS = `k.id, k.owner_id AS "ownerId", k.family_id AS "familyId", k.label, k.key_prefix AS "keyPrefix", k.grants,
  k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
  k.last_used_at AS "lastUsedAt", k.replaces`;

/** The qualified table name for statements. */
export function keyTable(schema: string): string {
  assert(PLAIN_NAME.test(schema), 'A schema has a plain lower-case name.');
  return `${schema}.api_keys`;
}

/**
 * The SQL condition under which a row of `api_keys` is a live key: not revoked, not expired, not past its overlap.
 * `alias` is the table's alias in the statement, `nowParameter` the parameter (such as `$2`) with the current time.
 * Revocation does not depend on the time: it takes effect at once, also on a replica whose clock is behind.
 */
export function liveKeyCondition(alias: string, nowParameter: string): string {
  const ahead = (column: string): string =>
    `(${alias}.${column} IS NULL OR ${alias}.${column} > ${nowParameter}::timestamptz)`;
  return `(${alias}.revoked_at IS NULL AND ${ahead('expires_at')} AND ${ahead('overlap_until')})`;
}

/** Single statements on one `api_keys` table. */
export function keyQueries<Grants>(schema: string) {
  const table = keyTable(schema);
  return {
    async list(sql: Sql, query: { ownerId: string; page: KeyPage; endedAfter: Date }): Promise<ApiKeyRow<Grants>[]> {
      const { ownerId, endedAfter } = query;
      const { limit, after } = query.page;
      // A key ends at the earliest of its three end times; LEAST ignores NULL.
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k
        WHERE k.owner_id = $1 AND (LEAST(k.revoked_at, k.expires_at, k.overlap_until) > $2) IS NOT FALSE
          ${after === undefined ? '' : 'AND (k.created_at, k.id) < ($4, $5)'}
        ORDER BY k.created_at DESC, k.id DESC LIMIT $3`;
      const position = after === undefined ? [] : [after.createdAt, after.id];
      return sql.query<ApiKeyRow<Grants>>({ text, values: [ownerId, endedAfter, limit, ...position] });
    },

    async get(sql: Sql, ownerId: string, id: string): Promise<ApiKeyRow<Grants> | undefined> {
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k WHERE k.id = $2 AND k.owner_id = $1`;
      const [row] = await sql.query<ApiKeyRow<Grants>>({ text, values: [ownerId, id] });
      return row;
    },

    async revoke(sql: Sql, key: { ownerId: string; id: string; at: Date }): Promise<'revoked' | 'already' | 'missing'> {
      const text = `WITH done AS (
          UPDATE ${table} SET revoked_at = $3 WHERE id = $2 AND owner_id = $1 AND revoked_at IS NULL RETURNING id)
        SELECT EXISTS (SELECT FROM done) AS revoked,
               EXISTS (SELECT FROM ${table} WHERE id = $2 AND owner_id = $1) AS known`;
      const [row] = await sql.query<{ revoked: boolean; known: boolean }>({
        text,
        values: [key.ownerId, key.id, key.at],
      });
      if (row?.revoked === true) return 'revoked';
      return row?.known === true ? 'already' : 'missing';
    },

    async countLive(sql: Sql, query: { ownerId: string; at: Date; excluding?: string }): Promise<number> {
      const text = `SELECT count(*)::int AS live FROM ${table} k
        WHERE k.owner_id = $1 AND ${liveKeyCondition('k', '$2')} AND k.id IS DISTINCT FROM $3`;
      const values = [query.ownerId, query.at, query.excluding ?? null];
      const [row] = await sql.query<{ live: number }>({ text, values });
      assert(row, 'A count has a row.');
      return row.live;
    },
  };
}
