import assert from 'node:assert/strict';
import { mintKey, type ApiKeyPrefix, type ApiKeyRow, type KeyStore, type NewApiKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { searchText, tableList, type TableList } from '@sealgate/paging';
import { migrationSet, type Database, type MigrationSet, type Sql } from '@sealgate/storage';

/** The keys of one surface in its database. Statements have the deadlines and errors of `Database`. */
export interface ApiKeys<Grants> extends KeyStore<Grants, Sql> {
  /** The keys of `list`, searched and sorted. */
  readonly listing: TableList<{ readonly ownerId: string }, ApiKeyRow<Grants>, KeyOrder>;
  countLive(ownerId: string, sql?: Sql): Promise<number>;
}

/** What keys are sorted by. */
export type KeyOrder = 'createdAt' | 'label' | 'endsAt' | 'lastUsedAt';

interface ApiKeysOptions {
  readonly sql: Database;
  /** Reads lists; default: `sql`. */
  readonly look?: Sql;
  /** The schema that `apiKeyMigrations` was run in. */
  readonly schema: string;
  readonly prefix: ApiKeyPrefix;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns `key_...` for `key_`; sortable ids keep keys of one millisecond in order. */
  readonly newId: (prefix: string) => string;
}

const MAX_LIVE_KEYS = 200;
const ENDED_SHOWN_MS = 30 * 24 * 3_600_000;
const MAX_OVERLAP_SECONDS = 604_800;

/** The migrations of the table `api_keys` in the schema of a surface. */
export function apiKeyMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'api-keys', schema, from: import.meta.url });
}

export function apiKeys<Grants>(options: ApiKeysOptions): ApiKeys<Grants> {
  const { sql: database, look = database, schema, prefix, now, newId } = options;
  const table = keyTable(schema);

  async function insert(sql: Sql, key: NewApiKey<Grants>, family: { id: string; familyId: string; at: Date }) {
    const { ownerId, label, grants, expiresAt = null, replaces = null } = key;
    const { rawKey, keyHash, keyPrefix } = mintKey(prefix);
    const text = `INSERT INTO ${table} AS k (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at,
        expires_at, replaces, folded) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${KEY_COLUMNS}`;
    const { id, familyId, at } = family;
    const folded = searchText([id, label, keyPrefix]);
    const grantsText = JSON.stringify(grants);
    const values = [id, ownerId, familyId, label, keyPrefix, keyHash, grantsText, at, expiresAt, replaces, folded];
    const [row] = await sql.query<ApiKeyRow<Grants>>({ text, values });
    assert(row, 'An insert returns its row.');
    return { ...row, rawKey };
  }

  return {
    async mint(key, sql) {
      const { ownerId, replaces, overlapSeconds = 0 } = key;
      assert(Number.isInteger(overlapSeconds), 'The overlap is whole seconds.');
      assert(overlapSeconds >= 0 && overlapSeconds <= MAX_OVERLAP_SECONDS, 'The overlap is at most seven days.');
      await lockOwner(sql, table, ownerId);
      const at = new Date(now());
      const id = newId('key_');
      const familyId = replaces === undefined ? id : await familyOf(sql, table, { ownerId, id: replaces, at });
      // A key that ends with its replacement makes room for it.
      const excluding = overlapSeconds === 0 ? replaces : undefined;
      if ((await countLive(sql, table, { ownerId, at, excluding })) >= MAX_LIVE_KEYS) {
        throw new AppError('LIMIT_REACHED', `There are ${MAX_LIVE_KEYS} live keys; revoke one first.`);
      }
      const minted = await insert(sql, key, { id, familyId, at });
      if (replaces !== undefined) {
        const text = `UPDATE ${table} SET overlap_until = $2 WHERE id = $1`;
        await sql.query({ text, values: [replaces, new Date(at.getTime() + overlapSeconds * 1_000)] });
      }
      return minted;
    },

    async list(ownerId, { limit, after = [] }) {
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k
        WHERE k.owner_id = $1 AND (${ENDS_AT} > $2) IS NOT FALSE
          ${after.length === 0 ? '' : 'AND (k.created_at, k.id) < ($4, $5)'}
        ORDER BY k.created_at DESC, k.id DESC LIMIT $3`;
      const values = [ownerId, new Date(now() - ENDED_SHOWN_MS), limit, ...after];
      return look.query<ApiKeyRow<Grants>>({ text, values });
    },

    listing: tableList(look, {
      from: `${table} l`,
      columns: KEY_COLUMNS.replaceAll('k.', 'l.'),
      id: 'l.id COLLATE "C"',
      orders: {
        createdAt: { by: 'l.created_at', type: 'timestamptz' },
        label: { by: 'left(l.label, 40) COLLATE "C"', type: 'text' },
        endsAt: { by: ENDS_AT.replaceAll('k.', 'l.'), type: 'timestamptz', nullable: true },
        lastUsedAt: { by: 'l.last_used_at', type: 'timestamptz', nullable: true },
      },
      whereOf: ({ ownerId }: { readonly ownerId: string }) => ({
        conditions: [
          ['l.owner_id = $', ownerId],
          [`(${ENDS_AT.replaceAll('k.', 'l.')} > $) IS NOT FALSE`, new Date(now() - ENDED_SHOWN_MS)],
        ],
      }),
      read: (row: ApiKeyRow<Grants>) => row,
    }),

    async get(ownerId, id) {
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k WHERE k.id = $2 AND k.owner_id = $1`;
      const [row] = await database.query<ApiKeyRow<Grants>>({ text, values: [ownerId, id] });
      return row;
    },

    async revoke(ownerId, id, sql) {
      const text = `WITH done AS (
          UPDATE ${table} SET revoked_at = $3 WHERE id = $2 AND owner_id = $1 AND revoked_at IS NULL RETURNING id)
        SELECT EXISTS (SELECT FROM done) AS revoked,
               EXISTS (SELECT FROM ${table} WHERE id = $2 AND owner_id = $1) AS known`;
      const values = [ownerId, id, new Date(now())];
      const [row] = await sql.query<{ revoked: boolean; known: boolean }>({ text, values });
      if (row?.revoked === true) return 'revoked';
      return row?.known === true ? 'already' : 'missing';
    },

    countLive: (ownerId, sql = database) => countLive(sql, table, { ownerId, at: new Date(now()) }),
  };
}

/** Counts the live keys of an owner, without the one that is excluded. */
async function countLive(
  sql: Sql,
  table: string,
  query: { readonly ownerId: string; readonly at: Date; readonly excluding?: string | undefined },
): Promise<number> {
  const text = `SELECT count(*)::int AS live FROM ${table} k
    WHERE k.owner_id = $1 AND ${liveKeyCondition('k', '$2')} AND k.id IS DISTINCT FROM $3`;
  const values = [query.ownerId, query.at, query.excluding ?? null];
  const [row] = await sql.query<{ live: number }>({ text, values });
  assert(row, 'A count has a row.');
  return row.live;
}

/**
 * Serialises minting for this owner until the end of the transaction, so that neither the limit nor "replaced once" can
 * be bypassed by a race.
 */
async function lockOwner(sql: Sql, table: string, ownerId: string): Promise<void> {
  const text = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
  await sql.query({ text, values: [`${table} ${ownerId}`] });
}

/**
 * The family that the new key joins. Locks the replaced key, so that it is not revoked before the end of the
 * transaction. A key past its overlap counts as replaced, not as missing.
 */
async function familyOf(sql: Sql, table: string, key: { ownerId: string; id: string; at: Date }): Promise<string> {
  const text = `SELECT k.family_id AS "familyId",
      k.revoked_at IS NOT NULL OR coalesce(k.expires_at <= $3, false) AS ended,
      EXISTS (SELECT FROM ${table} WHERE replaces = k.id) AS replaced
    FROM ${table} k WHERE k.id = $2 AND k.owner_id = $1 FOR UPDATE OF k`;
  const values = [key.ownerId, key.id, key.at];
  const [old] = await sql.query<{ familyId: string; ended: boolean; replaced: boolean }>({ text, values });
  if (old === undefined || old.ended) throw new AppError('NOT_FOUND', 'There is no such live key to replace.');
  if (old.replaced) throw new AppError('ALREADY_EXISTS', 'The key has been replaced already.');
  return old.familyId;
}

const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** The end of a key: LEAST ignores NULL. */
const ENDS_AT = 'LEAST(k.revoked_at, k.expires_at, k.overlap_until)';

/** The columns of an `ApiKeyRow`; the table's alias is `k`. */
const KEY_COLUMNS = `k.id, k.owner_id AS "ownerId", k.family_id AS "familyId", k.label, k.key_prefix AS "keyPrefix", k.grants,
  k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
  ${ENDS_AT} AS "endsAt", k.last_used_at AS "lastUsedAt", k.replaces`;

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
