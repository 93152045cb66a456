import assert from 'node:assert/strict';
import { mintKey, type ApiKeyPrefix } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { migrationSet, type Database, type MigrationSet, type Sql } from '@sealgate/storage';

/** A key as its owner may see it. `Grants` is the surface's own type of what a key may do. */
export interface ApiKeyRow<Grants> {
  readonly id: string;
  readonly ownerId: string;
  /** Shared by a key and all its replacements. */
  readonly familyId: string;
  readonly label: string;
  /** The first 12 characters of the raw key. */
  readonly keyPrefix: string;
  readonly grants: Grants;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The earliest of expiry, end of overlap and revocation; from then on it is not live. Null: none is known. */
  readonly endsAt: Date | null;
  readonly lastUsedAt: Date | null;
  /** The id of the key that this one replaced. */
  readonly replaces: string | null;
}

/** A new key. `rawKey` exists only here: it goes into one response and into no log. */
type MintedApiKey<Grants> = ApiKeyRow<Grants> & { readonly rawKey: string };

export interface NewApiKey<Grants> {
  readonly ownerId: string;
  readonly label: string;
  readonly grants: Grants;
  readonly expiresAt?: Date;
  /** The id of a live key of the same owner, which ends when `overlapSeconds` have passed. */
  readonly replaces?: string;
  /** 0 (the default) to 604800. Ignored without `replaces`. */
  readonly overlapSeconds?: number;
}

interface KeyPage {
  readonly limit: number;
  /** The last key of the previous page. */
  readonly after?: { readonly createdAt: Date; readonly id: string };
}

/**
 * The keys of one surface. `sql` may be a transaction of the caller, so that an audit event or a check of the owner is
 * atomic with the change. Statements have the deadlines and errors of `Database`; nothing is cached.
 */
export interface ApiKeys<Grants> {
  /**
   * @throws AppError NOT_FOUND if `replaces` is not a live key of this owner, ALREADY_EXISTS if it was replaced before,
   *   LIMIT_REACHED if the owner would have more than 200 live keys.
   */
  mint(key: NewApiKey<Grants>, sql?: Sql): Promise<MintedApiKey<Grants>>;
  /** Live keys and those that ended in the last 30 days, newest first. */
  list(ownerId: string, page: KeyPage): Promise<ApiKeyRow<Grants>[]>;
  /** In any state. */
  get(ownerId: string, id: string, sql?: Sql): Promise<ApiKeyRow<Grants> | undefined>;
  /** Ends only this key, at once and on every replica; the key it replaced and its replacement stay live. */
  revoke(ownerId: string, id: string, sql?: Sql): Promise<'revoked' | 'already' | 'missing'>;
  countLive(ownerId: string, sql?: Sql): Promise<number>;
}

interface ApiKeysOptions {
  readonly sql: Database;
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
  const { sql: database, now } = options;
  const table = keyTable(options.schema);
  return {
    async mint(key, sql = database) {
      const { overlapSeconds = 0 } = key;
      assert(Number.isInteger(overlapSeconds), 'The overlap is whole seconds.');
      assert(overlapSeconds >= 0 && overlapSeconds <= MAX_OVERLAP_SECONDS, 'The overlap is at most seven days.');
      const work = (transaction: Sql): Promise<MintedApiKey<Grants>> => mintIn(transaction, key, options);
      return isDatabase(sql) ? sql.transaction(work) : work(sql);
    },

    async list(ownerId, { limit, after }) {
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k
        WHERE k.owner_id = $1 AND (${ENDS_AT} > $2) IS NOT FALSE
          ${after === undefined ? '' : 'AND (k.created_at, k.id) < ($4, $5)'}
        ORDER BY k.created_at DESC, k.id DESC LIMIT $3`;
      const position = after === undefined ? [] : [after.createdAt, after.id];
      const values = [ownerId, new Date(now() - ENDED_SHOWN_MS), limit, ...position];
      return database.query<ApiKeyRow<Grants>>({ text, values });
    },

    async get(ownerId, id, sql = database) {
      const text = `SELECT ${KEY_COLUMNS} FROM ${table} k WHERE k.id = $2 AND k.owner_id = $1`;
      const [row] = await sql.query<ApiKeyRow<Grants>>({ text, values: [ownerId, id] });
      return row;
    },

    async revoke(ownerId, id, sql = database) {
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
  query: { readonly ownerId: string; readonly at: Date; readonly excluding?: string },
): Promise<number> {
  const text = `SELECT count(*)::int AS live FROM ${table} k
    WHERE k.owner_id = $1 AND ${liveKeyCondition('k', '$2')} AND k.id IS DISTINCT FROM $3`;
  const values = [query.ownerId, query.at, query.excluding ?? null];
  const [row] = await sql.query<{ live: number }>({ text, values });
  assert(row, 'A count has a row.');
  return row.live;
}

/** False if `sql` is already a transaction. */
function isDatabase(sql: Sql): sql is Database {
  return 'transaction' in sql;
}

type MintQueries = ReturnType<typeof mintQueries>;

/**
 * Makes a key inside a transaction. Concurrent mints for one owner are serialised, so that neither the limit nor
 * "replaced once" can be bypassed by a race.
 *
 * @throws AppError NOT_FOUND, ALREADY_EXISTS, LIMIT_REACHED, see `ApiKeys.mint`.
 */
async function mintIn<Grants>(
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
  const live = await countLive(sql, keyTable(options.schema), { ownerId, at, ...excluding });
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
