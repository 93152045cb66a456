import { mintKey } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Sql } from '@sealgate/storage';
import type { ApiKeysOptions, MintedApiKey, NewApiKey } from './api-keys.ts';
import { keyQueries } from './key-queries.ts';
import { mintQueries } from './mint-queries.ts';

const MAX_LIVE_KEYS = 200;

type MintQueries = ReturnType<typeof mintQueries>;

/**
 * Makes a key inside a transaction. Whoever mints for the same owner at the same time waits, so that neither the
 * limit nor "replaced once" can be raced past.
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
  const besides = replaces !== undefined && overlapSeconds === 0 ? { besides: replaces } : {};
  const live = await keyQueries(options.schema).countLive(sql, { ownerId, at, ...besides });
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

/** The family that the new key joins. A key whose overlap is over was replaced, which is what its owner is told. */
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
