import assert from 'node:assert/strict';
import type { ApiKeyPrefix } from '@sealgate/auth';
import { migrationSet, type Database, type MigrationSet, type Sql } from '@sealgate/storage';
import { keyQueries } from './key-queries.ts';
import { mintIn } from './mint-key.ts';

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
  readonly lastUsedAt: Date | null;
  /** The id of the key that this one replaced. */
  readonly replaces: string | null;
}

/** A new key. `rawKey` exists only here: it goes into one response and into no log. */
export type MintedApiKey<Grants> = ApiKeyRow<Grants> & { readonly rawKey: string };

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

export interface KeyPage {
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

export interface ApiKeysOptions {
  readonly sql: Database;
  /** The schema that `apiKeyMigrations` was run in. */
  readonly schema: string;
  readonly prefix: ApiKeyPrefix;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns `key_...` for `key_`; sortable ids keep keys of one millisecond in order. */
  readonly newId: (prefix: string) => string;
}

const ENDED_SHOWN_MS = 30 * 24 * 3_600_000;
const MAX_OVERLAP_SECONDS = 604_800;

/** The migrations of the table `api_keys` in the schema of a surface. */
export function apiKeyMigrations(schema: string): MigrationSet {
  return migrationSet({ name: 'api-keys', schema, from: import.meta.url });
}

export function apiKeys<Grants>(options: ApiKeysOptions): ApiKeys<Grants> {
  const { sql: database, now } = options;
  const queries = keyQueries<Grants>(options.schema);
  return {
    async mint(key, sql = database) {
      const { overlapSeconds = 0 } = key;
      assert(Number.isInteger(overlapSeconds), 'The overlap is whole seconds.');
      assert(overlapSeconds >= 0 && overlapSeconds <= MAX_OVERLAP_SECONDS, 'The overlap is at most seven days.');
      const work = (transaction: Sql): Promise<MintedApiKey<Grants>> => mintIn(transaction, key, options);
      return isDatabase(sql) ? sql.transaction(work) : work(sql);
    },
    list: (ownerId, page) => queries.list(database, { ownerId, page, endedAfter: new Date(now() - ENDED_SHOWN_MS) }),
    get: (ownerId, id, sql = database) => queries.get(sql, ownerId, id),
    revoke: (ownerId, id, sql = database) => queries.revoke(sql, { ownerId, id, at: new Date(now()) }),
    countLive: (ownerId, sql = database) => queries.countLive(sql, { ownerId, at: new Date(now()) }),
  };
}

/** False if `sql` is already a transaction. */
function isDatabase(sql: Sql): sql is Database {
  return 'transaction' in sql;
}
