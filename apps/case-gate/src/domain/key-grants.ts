import type { KeyedHasher } from '@sealgate/auth';
import { isAuthentic } from './eligibility-record.ts';
import { versionOfRow, type VersionedRecord } from './versioned-record.ts';

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
export type Scope = (typeof SCOPES)[number];

/** What a gk_ key may do, authenticated together with what the key is: nobody makes a key with a database alone. */
export interface KeyGrants {
  readonly scopes: readonly Scope[];
  /** 1 for the first; each change of the key is one more. Absent on a key that was made before keys had versions. */
  readonly version?: number;
  /** `<secretId>:<base64url>` over the grants and all of the key that decides. */
  readonly mac: string;
}

/** All of a key that decides what it opens and until when. */
export interface KeyState {
  readonly id: string;
  readonly environment: string;
  readonly familyId: string;
  readonly label: string;
  readonly keyPrefix: string;
  readonly keyHash: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly replaces: string | null;
  /** When it ends because another has replaced it. */
  readonly overlapUntil: Date | null;
  readonly revokedAt: Date | null;
}

export function signGrants(key: KeyState, grants: Required<Omit<KeyGrants, 'mac'>>, macs: KeyedHasher): KeyGrants {
  const { id, digest } = macs.hash(...partsOf(key, grants));
  return { ...grants, mac: `${id}:${digest.toString('base64url')}` };
}

/** The grants of a key that is as it was written; undefined for every other. Whether it has ended is not looked at. */
export function authenticGrants(key: KeyState, grants: unknown, macs: KeyedHasher): KeyGrants | undefined {
  if (typeof grants !== 'object' || grants === null) return undefined;
  const { scopes, version, mac, ended } = grants as Partial<Record<keyof KeyGrants | 'ended', unknown>>;
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string')) return undefined;
  // How a key without a version said that it was revoked.
  if (ended !== undefined || (version !== undefined && !isVersion(version))) return undefined;
  const claimed = { scopes: scopes as Scope[], ...(version === undefined ? {} : { version }), mac: mac as string };
  return isAuthentic(mac, macs, partsOf(key, claimed)) ? claimed : undefined;
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function partsOf(key: KeyState, { scopes, version }: Omit<KeyGrants, 'mac'>): string[] {
  const { id, environment, familyId, label, keyPrefix, keyHash, createdAt, expiresAt, replaces } = key;
  const times = [createdAt.toISOString(), timeText(expiresAt) ?? ''];
  const names = [id, environment, familyId, label, keyPrefix, keyHash.toString('hex'), replaces ?? ''];
  // 'false' stood here before there were versions.
  if (version === undefined) return [...names, ...times, 'false', ...scopes];
  const ends = [timeText(key.overlapUntil) ?? '', timeText(key.revokedAt) ?? ''];
  return [...names, ...times, `version ${version}`, ...ends, ...scopes];
}

function timeText(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

/** What the ledger ids of a key are made of. */
export function keyName(id: string): string[] {
  return ['key', id];
}

/** A key without a version is version 0: its MAC does not cover its ends, which this does once the ledger holds it. */
export function keyVersion(key: KeyState, { scopes, version = 0, mac }: KeyGrants): VersionedRecord {
  const ends = {
    expires_at: timeText(key.expiresAt),
    overlap_until: timeText(key.overlapUntil),
    revoked_at: timeText(key.revokedAt),
  };
  return versionOfRow(keyName(key.id), version, {
    ...{ key_id: key.id, environment: key.environment, scopes: [...scopes], mac },
    ...ends,
  });
}
