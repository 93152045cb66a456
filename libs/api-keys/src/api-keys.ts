import assert from 'node:assert/strict';
import type { ApiKeyPrefix } from '@sealgate/auth';
import type { Database, Sql } from '@sealgate/storage';
import { keyQueries } from './key-queries.ts';
import { mintIn } from './mint-key.ts';

/** A key as its owner may see it. `Grants` is what a surface lets a key do, in its own words. */
export interface ApiKeyRow<Grants> {
  readonly id: string;
  readonly ownerId: string;
  /** The same for a key and all that replaced it. */
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

/** A key just made. `rawKey` is here and nowhere else: it goes into one answer, and into no log. */
export type MintedApiKey<Grants> = ApiKeyRow<Grants> & { readonly rawKey: string };

export interface NewApiKey<Grants> {
  readonly ownerId: string;
  readonly label: string;
  readonly grants: Grants;
  readonly expiresAt?: Date;
  /** The id of a live key of the same owner, which ends when `overlapSeconds` have passed. */
  readonly replaces?: string;
  /** 0 (the default) to 604800. Without `replaces` it means nothing. */
  readonly overlapSeconds?: number;
}

export interface KeyPage {
  readonly limit: number;
  /** The last key of the page before. */
  readonly after?: { readonly createdAt: Date; readonly id: string };
}

/**
 * The keys of one surface. Where a method takes `sql`, it may be a transaction of the caller, so that an audit event
 * or a check of the owner holds together with the change. Statements end as `Database` says; nothing is cached.
 */
export interface ApiKeys<Grants> {
  /**
   * @throws AppError NOT_FOUND when `replaces` is not a live key of this owner, ALREADY_EXISTS when it was replaced
   *   before, LIMIT_REACHED when the owner would have more than 200 live keys.
   */
  mint(key: NewApiKey<Grants>, sql?: Sql): Promise<MintedApiKey<Grants>>;
  /** Live keys and those that ended in the last 30 days, newest first. */
  list(ownerId: string, page: KeyPage): Promise<ApiKeyRow<Grants>[]>;
  /** Whatever its state. */
  get(ownerId: string, id: string, sql?: Sql): Promise<ApiKeyRow<Grants> | undefined>;
  /** Ends this key alone, at once and on every replica; the one that it replaced or that replaced it lives on. */
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
  /** Makes `key_...` of `key_`; ids that sort by age keep keys of one millisecond in order. */
  readonly newId: (prefix: string) => string;
}

const ENDED_SHOWN_MS = 30 * 24 * 3_600_000;
const MAX_OVERLAP_SECONDS = 604_800;

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

/** What needs several statements gets a transaction of its own, unless it was given one. */
function isDatabase(sql: Sql): sql is Database {
  return 'transaction' in sql;
}
