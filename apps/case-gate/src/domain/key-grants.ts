import type { KeyedHasher } from '@sealgate/auth';
import { isAuthentic, versionOfRow, type VersionedRecord } from './versioned-record.ts';

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

/**
 * The permissions of a gk_ key, authenticated together with the key: nobody can forge a key by database access alone.
 */
export interface KeyGrants {
  readonly scopes: readonly Scope[];
  /** 1 for the first; incremented by each change. */
  readonly version: number;
  /** `<secretId>:<base64url>` over the grants and all members of the key that decide. */
  readonly mac: string;
}

/** All members of a key that decide what it may do and until when. */
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
  /** When it ends because it was replaced. */
  readonly overlapUntil: Date | null;
  readonly revokedAt: Date | null;
}

export function signGrants(key: KeyState, grants: Omit<KeyGrants, 'mac'>, macs: KeyedHasher): KeyGrants {
  const { id, digest } = macs.hash(...partsOf(key, grants));
  return { ...grants, mac: `${id}:${digest.toString('base64url')}` };
}

/** The grants of an authentic key; undefined for any other. Does not check whether the key has ended. */
export function authenticGrants(key: KeyState, grants: unknown, macs: KeyedHasher): KeyGrants | undefined {
  if (typeof grants !== 'object' || grants === null) return undefined;
  const { scopes, version, mac } = grants as Partial<Record<keyof KeyGrants, unknown>>;
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string')) return undefined;
  if (!isVersion(version)) return undefined;
  const claimed = { scopes: scopes as Scope[], version, mac: mac as string };
  return isAuthentic(mac, macs, partsOf(key, claimed)) ? claimed : undefined;
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function partsOf(key: KeyState, { scopes, version }: Omit<KeyGrants, 'mac'>): string[] {
  const { id, environment, familyId, label, keyPrefix, keyHash, createdAt, expiresAt, replaces } = key;
  const times = [createdAt.toISOString(), timeText(expiresAt) ?? ''];
  const names = [id, environment, familyId, label, keyPrefix, keyHash.toString('hex'), replaces ?? ''];
  const ends = [timeText(key.overlapUntil) ?? '', timeText(key.revokedAt) ?? ''];
  return [...names, ...times, `version ${version}`, ...ends, ...scopes];
}

function timeText(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

/** The parts of the ledger ids of a key. */
export function keyName(id: string): string[] {
  return ['key', id];
}

export function keyVersion(key: KeyState, { scopes, version, mac }: KeyGrants): VersionedRecord {
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

/** The owner of a live gk_ key of one environment. */
export interface GateCaller {
  readonly keyId: string;
  /** The old and the new key of a rotation share it, so idempotent replays survive the rotation. */
  readonly familyId: string;
  readonly environment: string;
  readonly scopes: readonly Scope[];
  /** The rate limit that a request counts against. */
  readonly bucket: 'api' | 'gate';
}
