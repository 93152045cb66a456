import type { KeyedHasher } from '@sealgate/auth';
import type { LookedUp } from '../domain/check-entry.ts';
import type { EligibilityRecord } from '../domain/eligibility-record.ts';
import type { KnownVenue } from '../domain/gate-decision.ts';
import { isVenueAuthentic, type VenueRecord } from '../domain/venue-record.ts';
import { storedOf } from './eligibility-store.ts';
import { subjectName, type SeenVersions } from './seen-versions.ts';

/** What one row of the look-up says of an entry. */
export interface FactRow {
  readonly owner_id: string;
  readonly subject_ref: string | null;
  readonly record_version: number | null;
  readonly status: string | null;
  readonly document: string | null;
  readonly changed_at: Date | null;
  readonly mac: string | null;
  readonly newest_version: number | null;
  readonly venue_id: string | null;
  readonly venue_name: string | null;
  readonly venue_active: boolean | null;
  readonly venue_version: number | null;
  readonly venue_created_at: Date | null;
  readonly venue_updated_at: Date | null;
  readonly venue_mac: string | null;
}

export interface FactMacs {
  readonly eligibility: KeyedHasher;
  readonly venues: KeyedHasher;
}

export interface FactOptions {
  readonly macs: FactMacs;
  readonly seen: SeenVersions;
  /** Taken before the question was sent. */
  readonly mark: number;
  readonly onCorrupt: (what: string) => void;
}

/** Undefined stands for nothing there, 'corrupt' for what is not as it was written or was put back. */
type Believed<Value> = Value | 'corrupt' | undefined;

/** What is known of an entry; what was put back, or is not what was written, makes it not intact. */
export function factsOf(row: FactRow, options: FactOptions): LookedUp {
  const record = believedRecord(row, options);
  const venue = believedVenue(row, options);
  if (record !== 'corrupt' && venue !== 'corrupt') return { isIntact: true, record, venue };
  // Ids of a venue and a subject in one environment: the operator who is called needs to know which row it is.
  options.onCorrupt(record === 'corrupt' ? `subject ${row.subject_ref}` : `venue ${row.venue_id}`);
  return { isIntact: false, record: undefined, venue: undefined };
}

function believedRecord(row: FactRow, { macs, seen, mark }: FactOptions): Believed<EligibilityRecord> {
  const { owner_id: environment, subject_ref: subjectRef } = row;
  if (subjectRef === null) return undefined;
  const name = subjectName(environment, subjectRef);
  const highest = seen.highestBefore(mark, name);
  const stored = storedOf({ ...row, environment, subject_ref: subjectRef }, macs.eligibility);
  if (stored.kind === 'none') return highest === 0 ? undefined : 'corrupt';
  if (stored.kind === 'corrupt' || stored.record.record_version < highest) return 'corrupt';
  seen.see(name, stored.record.record_version);
  return stored.record;
}

function believedVenue(row: FactRow, { macs, seen, mark }: FactOptions): Believed<KnownVenue> {
  const { owner_id: environment, venue_id: venueId } = row;
  if (venueId === null) return undefined;
  const name = `venue ${environment} ${venueId}`;
  const highest = seen.highestBefore(mark, name);
  const venue = venueOf(row);
  if (venue === undefined) return highest === 0 ? undefined : 'corrupt';
  const isBelieved = isVenueAuthentic(venue, row.venue_mac, macs.venues) && venue.recordVersion >= highest;
  if (!isBelieved) return 'corrupt';
  seen.see(name, venue.recordVersion);
  return venue;
}

function venueOf(row: FactRow): VenueRecord | undefined {
  const { venue_id: venueId, venue_name: name, venue_active: active, venue_version: recordVersion } = row;
  const { venue_created_at: createdAt, venue_updated_at: updatedAt } = row;
  if (venueId === null || name === null || active === null || recordVersion === null) return undefined;
  if (createdAt === null || updatedAt === null) return undefined;
  return { environment: row.owner_id, venueId, name, active, recordVersion, createdAt, updatedAt };
}
