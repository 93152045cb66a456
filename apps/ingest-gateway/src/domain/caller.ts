import { AppError } from '@sealgate/errors';
import type { UnitGuard } from '@sealgate/ledger-port';
import type { CanonicalRecord } from './read-submission.ts';
import type { LiveSource } from './source.ts';

/**
 * The caller of the public listener: a live ingest key and its network. Or a source, whose id then replaces the key and
 * family ids; until its signature is verified the sender is only claimed.
 */
export interface IngestCaller {
  readonly keyId: string;
  /** Old and new key of a rotation are one family, so replays survive a rotation. */
  readonly familyId: string;
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly grants: KeyGrants;
  readonly networkLimits: Limits | undefined;
  /** Present for a source, which may only deliver. */
  readonly source?: LiveSource;
  /** The key or source and its version at look-up, which covers all members above. */
  readonly guard: UnitGuard;
}

/** The rate limits of one bucket. */
export interface Limits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

export const PERMISSIONS = ['ingest:ping', 'ingest:write'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What an ingest key may do. Absent `permissions` allow everything, `[]` nothing; the same for types. */
export interface KeyGrants {
  readonly permissions?: readonly Permission[];
  readonly allowedAssetTypes?: readonly string[];
  /** `whole`: a top-level object that is neither a ping nor a batch is stored as it is, whatever its members are. */
  readonly record: 'envelope' | 'whole';
  readonly defaultType?: string;
  readonly limits?: Limits;
}

/** The settings of a key that affect how a body is read. */
export interface RecordRules {
  readonly record: KeyGrants['record'];
  readonly defaultType?: string | undefined;
}

export function mayUse(grants: KeyGrants, permission: string): boolean {
  return grants.permissions === undefined || grants.permissions.some((granted) => granted === permission);
}

/** The first of these types that the key may not write, or undefined. */
export function refusedType(grants: KeyGrants, types: Iterable<string>): string | undefined {
  const allowed = grants.allowedAssetTypes;
  if (allowed === undefined) return undefined;
  for (const type of types) if (!allowed.includes(type)) return type;
  return undefined;
}

/** @throws AppError UNKNOWN_CHANNEL when a record names a channel that the network does not have. */
export function checkChannels(records: readonly CanonicalRecord[], channels: readonly string[]): void {
  const isKnown = records.every(({ targetChannels = [] }) => targetChannels.every((name) => channels.includes(name)));
  if (!isKnown) throw new AppError('UNKNOWN_CHANNEL', 'The network does not have every channel that is named.');
}
