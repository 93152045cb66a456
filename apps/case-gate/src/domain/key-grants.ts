import type { KeyedHasher } from '@sealgate/auth';
import { isAuthentic } from './eligibility-record.ts';

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
  /** Set when the key is revoked, so that taking the mark of revocation away does not bring it back. */
  readonly ended?: true;
  /** `<secretId>:<base64url>` over the grants and what never changes of the key. */
  readonly mac: string;
}

/** What never changes of a key. */
export interface KeyIdentity {
  readonly id: string;
  readonly environment: string;
  readonly familyId: string;
  readonly label: string;
  readonly keyPrefix: string;
  readonly keyHash: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly replaces: string | null;
}

export function signGrants(key: KeyIdentity, grants: Omit<KeyGrants, 'mac'>, macs: KeyedHasher): KeyGrants {
  const { id, digest } = macs.hash(...partsOf(key, grants));
  return { ...grants, mac: `${id}:${digest.toString('base64url')}` };
}

/** Whether key and grants are as they were written, and the key has not ended. */
export function areGrantsValid(key: KeyIdentity, grants: unknown, macs: KeyedHasher): grants is KeyGrants {
  if (typeof grants !== 'object' || grants === null) return false;
  const { scopes, ended, mac } = grants as Partial<Record<keyof KeyGrants, unknown>>;
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string') || ended !== undefined)
    return false;
  return isAuthentic(mac, macs, partsOf(key, { scopes: scopes as Scope[] }));
}

function partsOf(key: KeyIdentity, { scopes, ended }: Omit<KeyGrants, 'mac'>): string[] {
  const { id, environment, familyId, label, keyPrefix, keyHash, createdAt, expiresAt, replaces } = key;
  const times = [createdAt.toISOString(), expiresAt?.toISOString() ?? ''];
  const names = [id, environment, familyId, label, keyPrefix, keyHash.toString('hex'), replaces ?? ''];
  return [...names, ...times, String(ended ?? false), ...scopes];
}
