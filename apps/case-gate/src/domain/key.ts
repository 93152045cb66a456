import type { KeyedHasher } from '@sealgate/auth';
import { Type } from '@sinclair/typebox';
import { enumOf, Environment, Name, OrNull, Sha256, Text, Time } from '../schemas.ts';
import { readRow, type RecordOf } from './model.ts';
import { rowMac, type RecordedKind } from './signed-row.ts';

export const SCOPES = [
  'case:write',
  'case:decide',
  'case:override',
  'case:seal',
  'case:read',
  'case:export',
  'eligibility:read',
  'gate:check',
] as const;

/** A gk_ key: all that decides what it may do and until when. Its MAC covers it, so database access forges no key. */
export const Key = Type.Object({
  key_id: Text,
  environment: Environment,
  family_id: Text,
  label: Name,
  key_prefix: Text,
  key_hash: Sha256,
  replaces: OrNull(Text),
  created_at: Time,
  expires_at: OrNull(Time),
  record_version: Type.Integer({ minimum: 1 }),
  // When it ends because it was replaced.
  overlap_until: OrNull(Time),
  revoked_at: OrNull(Time),
  scopes: Type.Array(enumOf('Scope', SCOPES), { uniqueItems: true, description: 'What it may do.' }),
});
export type Key = RecordOf<typeof Key>;

export const KEYS: RecordedKind<Key> = {
  kind: 'key',
  what: 'key',
  table: 'api_keys',
  model: Key,
  id: ['key_id'],
  recorded: ['environment', 'scopes', 'expires_at', 'overlap_until', 'revoked_at'],
  mayReturn: false,
  textsOf(column, value) {
    if (Array.isArray(value)) return value.map(String);
    return [column === 'record_version' ? `version ${String(value)}` : String(value ?? '')];
  },
};

/** The column `grants`, which holds what the table of keys of every surface has no column for. */
export interface KeyGrants {
  readonly scopes: Key['scopes'];
  readonly version: number;
  readonly mac: string;
}

export function signedGrants(key: Key, macs: KeyedHasher): KeyGrants {
  return { scopes: key.scopes, version: key.record_version, mac: rowMac(KEYS, key, macs) };
}

/** Columns of the table of keys, as selected. */
export interface KeyColumns {
  readonly id: string;
  readonly owner_id: string;
  readonly family_id: string;
  readonly label: string;
  readonly key_prefix: string;
  readonly key_hash: Buffer;
  readonly replaces: string | null;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly overlap_until: Date | null;
  readonly revoked_at: Date | null;
}

/** A key with its MAC, not yet verified. Malformed grants have none, so they are not authentic. */
export function readKey(
  { id, owner_id: environment, key_hash: hash, ...columns }: KeyColumns,
  grants: unknown,
): { readonly row: Key; readonly mac: string | undefined } {
  const { scopes, version, mac } = isGrants(grants) ? grants : { scopes: [], version: 0, mac: undefined };
  const own = { key_id: id, environment, key_hash: hash.toString('hex'), scopes, record_version: version };
  return { row: readRow(Key, { ...columns, ...own }), mac };
}

function isGrants(grants: unknown): grants is KeyGrants {
  if (typeof grants !== 'object' || grants === null) return false;
  const { scopes, version, mac } = grants as Partial<Record<keyof KeyGrants, unknown>>;
  const hasScopes = Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string');
  return hasScopes && Number.isSafeInteger(version) && Number(version) >= 1 && typeof mac === 'string';
}

/** The owner of a live gk_ key of one environment. */
export interface GateCaller extends Pick<Key, 'environment' | 'scopes'> {
  readonly keyId: string;
  /** The old and the new key of a rotation share it, so idempotent replays survive the rotation. */
  readonly familyId: string;
  /** The rate limit that a request counts against. */
  readonly bucket: 'api' | 'gate';
}
