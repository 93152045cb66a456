import type { UnitGuard } from '@sealgate/ledger-port';
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
