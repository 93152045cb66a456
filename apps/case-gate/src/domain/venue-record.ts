import type { KeyedHasher } from '@sealgate/auth';
import { isAuthentic } from './eligibility-record.ts';

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
export function isVenueAuthentic(venue: VenueRecord, mac: unknown, macs: KeyedHasher): boolean {
  return typeof venue.active === 'boolean' && isAuthentic(mac, macs, partsOf(venue));
}

function partsOf({ environment, venueId, name, active, recordVersion, createdAt, updatedAt }: VenueRecord): string[] {
  const times = [createdAt.toISOString(), updatedAt.toISOString()];
  return [environment, venueId, name, String(active), String(recordVersion), ...times];
}
