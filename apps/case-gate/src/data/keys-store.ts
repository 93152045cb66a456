import type { ApiKeys } from '@sealgate/api-keys';
import type { KeyedHasher, KeyStore } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Sql } from '@sealgate/storage';
import { KEYS, readKey, signedGrants, type Key, type KeyColumns, type KeyGrants } from '../domain/key.ts';
import { isRowAuthentic, rowVersion } from '../domain/signed-row.ts';
import { versionOfRow } from '../domain/versioned-record.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';
import type { SignedRows } from './signed-rows.ts';

interface KeyParts {
  readonly keys: ApiKeys<KeyGrants>;
  readonly sql: Sql;
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
  /** Milliseconds since the epoch, whole. */
  readonly now: () => number;
}

/**
 * Keys whose rows are signed: a key inserted by hand is never valid. Every change, also the end that a replaced key
 * gets, is its next version in the row and in the ledger.
 */
export interface SignedKeys
  extends
    KeyStore<KeyGrants, RecordingSql, Key['scopes']>,
    Pick<SignedRows<Key>, 'remake'>,
    Pick<ApiKeys<KeyGrants>, 'listing'> {
  /** The environment of a key; undefined where there is no such key. */
  environmentOf(id: string): Promise<string | undefined>;
}

type KeyRow = KeyColumns & { readonly grants: unknown };

export function signedKeys({ keys, sql: database, macs, versions, now }: KeyParts): SignedKeys {
  async function lock(sql: Sql, id: string): Promise<KeyRow | undefined> {
    const text = `SELECT id, owner_id, family_id, label, key_prefix, key_hash, replaces, created_at, expires_at,
        overlap_until, revoked_at, grants FROM gate.api_keys WHERE id = $1 FOR UPDATE`;
    const [row] = await sql.query<KeyRow>({ text, values: [id] });
    return row;
  }

  /** Whether it passes its MAC, and is not older than what the ledger holds. */
  async function isIntact(sql: Sql, { row, mac }: ReturnType<typeof readKey>): Promise<boolean> {
    if (mac === undefined || !isRowAuthentic(KEYS, { row, mac }, macs)) return false;
    return !(await versions.isContradicted(sql, rowVersion(KEYS, row, mac)));
  }

  async function save(sql: RecordingSql, key: Key, urgency: Urgency = 'before the answer'): Promise<KeyGrants> {
    const grants = signedGrants(key, macs);
    const text = 'UPDATE gate.api_keys SET grants = $2, revoked_at = $3 WHERE id = $1';
    await sql.query({ text, values: [key.key_id, JSON.stringify(grants), key.revoked_at] });
    await sql.enter(rowVersion(KEYS, key, grants.mac), urgency);
    return grants;
  }

  return {
    list: keys.list,
    listing: keys.listing,
    get: keys.get,
    /** NOT_FOUND also where the row to be replaced fails its integrity check. */
    async mint({ grants: scopes, ...terms }, sql) {
      const minted = await keys.mint({ ...terms, grants: { scopes, version: 0, mac: '' } }, sql);
      const made = await lock(sql, minted.id);
      if (made === undefined) throw new Error('The minted key was not found.');
      const grants = await save(sql, { ...readKey(made, undefined).row, scopes, record_version: 1 });
      const replaced = terms.replaces === undefined ? undefined : await lock(sql, terms.replaces);
      if (replaced === undefined) return { ...minted, grants };
      const before = readKey({ ...replaced, overlap_until: null }, replaced.grants);
      // Never sign a row written by somebody else. The transaction is rolled back.
      if (!(await isIntact(sql, before))) throw new AppError('NOT_FOUND', 'There is no such live key to replace.');
      await save(sql, next(readKey(replaced, replaced.grants).row));
      return { ...minted, grants };
    },
    /**
     * Also accepts a corrupt row, which is safe whatever its content, and a missing row of a key that the ledger knows,
     * so that restoring the row does not restore the key.
     */
    async revoke(environment, id, sql) {
      const found = await lock(sql, id);
      const name = [KEYS.kind, id];
      const revokedAt = new Date(now()).toISOString();
      if (found === undefined) {
        const newest = await versions.newest(sql, name);
        if (newest === undefined) return 'missing';
        const members = { key_id: id, revoked_at: revokedAt };
        await sql.enter(versionOfRow(name, newest + 1, members), 'before the answer');
        return 'revoked';
      }
      if (found.owner_id !== environment) return 'missing';
      const key = readKey(found, found.grants);
      const { row, mac } = key;
      const intact = await isIntact(sql, key);
      if (intact && row.revoked_at !== null) {
        await sql.enter(rowVersion(KEYS, row, mac!), 'before the answer');
        return 'already';
      }
      const last = intact ? row : { ...row, scopes: [], record_version: (await versions.newest(sql, name)) ?? 0 };
      await save(sql, { ...next(last), revoked_at: row.revoked_at ?? revokedAt });
      return 'revoked';
    },
    async remake(sql, [id = ''], urgency) {
      const found = await lock(sql, id);
      if (found === undefined) return undefined;
      const key = readKey(found, found.grants);
      if (!(await isIntact(sql, key))) throw new Error(`The row of the key ${id} failed its integrity check.`);
      const remade = next(key.row);
      await save(sql, remade, urgency);
      return remade.record_version;
    },
    async environmentOf(id) {
      const text = 'SELECT owner_id FROM gate.api_keys WHERE id = $1';
      return (await database.query<{ owner_id: string }>({ text, values: [id] }))[0]?.owner_id;
    },
  };
}

/** The labels of keys of all environments, by id. */
export async function keyLabels(sql: Sql, ids: readonly string[]): Promise<Record<string, string>> {
  const text = 'SELECT id, label FROM gate.api_keys WHERE id = ANY ($1::text[])';
  const rows = await sql.query<{ id: string; label: string }>({ text, values: [ids] });
  return Object.fromEntries(rows.map(({ id, label }) => [id, label]));
}

const next = (key: Key): Key => ({ ...key, record_version: key.record_version + 1 });
