import { AppError } from '@sealgate/errors';
import type { CanonicalRecord } from './read-submission.ts';

/** Default rates of a bucket, or those set for one network or key. */
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
  /** `whole`: a top-level object that is neither a ping nor a batch is stored as it is, whatever its members mean. */
  readonly record: 'envelope' | 'whole';
  readonly defaultType?: string;
  readonly limits?: Limits;
}

/** What a key says about how a body is read. */
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
