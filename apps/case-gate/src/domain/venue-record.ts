import type { KeyedHasher } from '@sealgate/auth';
import { isAuthentic } from './eligibility-record.ts';
import { versionOfRow, type VersionedRecord } from './versioned-record.ts';

/** A venue, as its row holds it. */
export interface VenueRecord {
  readonly environment: string;
  readonly venueId: string;
  readonly name: string;
  /** At an inactive venue nobody may enter. */
  readonly active: boolean;
  /** 1 for the first; each change is one more. */
  readonly recordVersion: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The MAC over every column, as `<secretId>:<base64url>`. */
export function venueMac(venue: VenueRecord, macs: KeyedHasher): string {
  const { id, digest } = macs.hash(...partsOf(venue));
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether a row is as it was written. */
export function isVenueAuthentic(venue: VenueRecord, mac: unknown, macs: KeyedHasher): mac is string {
  return typeof venue.active === 'boolean' && isAuthentic(mac, macs, partsOf(venue));
}

function partsOf({ environment, venueId, name, active, recordVersion, createdAt, updatedAt }: VenueRecord): string[] {
  const times = [createdAt.toISOString(), updatedAt.toISOString()];
  return [environment, venueId, name, String(active), String(recordVersion), ...times];
}

/** What the ledger ids of a venue are made of. */
export function venueName({ environment, venueId }: Pick<VenueRecord, 'environment' | 'venueId'>): string[] {
  return ['venue', environment, venueId];
}

export function venueVersion(venue: VenueRecord, mac: string): VersionedRecord {
  const { environment, venueId, active, updatedAt, recordVersion } = venue;
  const members = { environment, venue_id: venueId, active, updated_at: updatedAt.toISOString(), mac };
  return versionOfRow(venueName(venue), recordVersion, members);
}
