import type { KeyedHasher } from '@sealgate/auth';
import { eligibilityName, eligibilityVersion } from '../domain/change-eligibility.ts';
import type { LookedUp } from '../domain/check-entry.ts';
import { storedStatus, type EligibilityRecord } from '../domain/eligibility-record.ts';
import { isVenueAuthentic, venueName, venueVersion, type VenueRecord } from '../domain/venue-record.ts';
import { seenName, type VersionedRecord } from '../domain/versioned-record.ts';
import { storedOf } from './eligibility-store.ts';
import type { Known, KnownRows } from './known-rows.ts';
import type { SeenVersions } from './seen-versions.ts';

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

/** An authentic row that would let somebody in, and that the ledger has not been asked about. */
export interface Unconfirmed {
  readonly record: VersionedRecord;
  /** Called where the ledger has nothing against it. */
  readonly remember: (nextIds: readonly string[]) => void;
}

export interface FactOptions {
  readonly macs: FactMacs;
  readonly seen: SeenVersions;
  readonly known: KnownRows;
  readonly onCorrupt: (what: string) => void;
  /** Taken before the question was sent. */
  readonly mark: number;
  /** Whether the ledger holds a version after it. */
  readonly isOutdated: (known: Known<unknown, unknown>) => boolean;
}

/** What was known when the question was sent: the statement asked the ledger about it too. */
export interface KnownThen {
  readonly subject: Known<FactRow, EligibilityRecord> | undefined;
  readonly venue: Known<FactRow, VenueRecord> | undefined;
}

export interface Facts {
  readonly facts: LookedUp;
  readonly unconfirmed: readonly Unconfirmed[];
}

/** Undefined stands for nothing there, 'corrupt' for what is not as it was written or was put back. */
type Believed<Value> = { readonly value: Value; readonly unconfirmed?: Unconfirmed } | 'corrupt' | undefined;

/** What is known of an entry; what was put back, or is not what was written, makes it not intact. */
export function factsOf(row: FactRow, then: KnownThen, options: FactOptions): Facts {
  const record = believedRecord(row, then.subject, options);
  const venue = believedVenue(row, then.venue, options);
  if (record !== 'corrupt' && venue !== 'corrupt') {
    const facts = { isIntact: true, record: record?.value, venue: venue?.value };
    if (record?.unconfirmed === undefined && venue?.unconfirmed === undefined) return { facts, unconfirmed: [] };
    return { facts, unconfirmed: [record?.unconfirmed, venue?.unconfirmed].filter((each) => each !== undefined) };
  }
  // Ids of a venue and a subject in one environment: the operator who is called needs to know which row it is.
  options.onCorrupt(record === 'corrupt' ? `subject ${row.subject_ref}` : `venue ${row.venue_id}`);
  return NOTHING_FOUND;
}

/** What is not to be believed, or did not come back with the others of its key: nobody enters on that. */
export const NOTHING_KNOWN: LookedUp = { isIntact: false, record: undefined, venue: undefined };
export const NOTHING_FOUND: Facts = { facts: NOTHING_KNOWN, unconfirmed: [] };

function believedRecord(row: FactRow, then: KnownThen['subject'], options: FactOptions): Believed<EligibilityRecord> {
  const { owner_id: environment, subject_ref: subjectRef } = row;
  if (subjectRef === null) return undefined;
  const { macs, seen, known, mark, isOutdated } = options;
  const name = seenName(eligibilityName({ environment, subjectRef }));
  const highest = seen.highestBefore(mark, name);
  if (then !== undefined && isSameSubject(then.row, row)) {
    const { value } = then;
    if (!isOutdated(then)) return value.record_version < highest ? 'corrupt' : { value };
    known.subjects.delete(name);
    seen.see(name, value.record_version + 1);
    return 'corrupt';
  }
  const stored = storedOf({ ...row, environment, subject_ref: subjectRef }, macs.eligibility);
  if (stored.kind === 'none') return highest === 0 ? undefined : 'corrupt';
  if (stored.kind === 'corrupt' || stored.record.record_version < highest) return 'corrupt';
  const value = stored.record;
  seen.see(name, value.record_version);
  // What lets nobody in lets nobody in whatever the ledger says.
  if (storedStatus(value) !== 'eligible') return { value };
  const remember = (nextIds: readonly string[]) => known.subjects.set(name, { row, value, nextIds });
  return { value, unconfirmed: { record: eligibilityVersion(value, row.document!), remember } };
}

function believedVenue(row: FactRow, then: KnownThen['venue'], options: FactOptions): Believed<VenueRecord> {
  const { owner_id: environment, venue_id: venueId } = row;
  if (venueId === null) return undefined;
  const { macs, seen, known, mark, isOutdated } = options;
  const name = seenName(venueName({ environment, venueId }));
  const highest = seen.highestBefore(mark, name);
  if (then !== undefined && isSameVenue(then.row, row)) {
    const { value } = then;
    if (!isOutdated(then)) return value.recordVersion < highest ? 'corrupt' : { value };
    known.venues.delete(name);
    seen.see(name, value.recordVersion + 1);
    return 'corrupt';
  }
  const value = venueOf(row);
  if (value === undefined) return highest === 0 ? undefined : 'corrupt';
  if (!isVenueAuthentic(value, row.venue_mac, macs.venues) || value.recordVersion < highest) return 'corrupt';
  seen.see(name, value.recordVersion);
  if (!value.active) return { value };
  const remember = (nextIds: readonly string[]) => known.venues.set(name, { row, value, nextIds });
  return { value, unconfirmed: { record: venueVersion(value, row.venue_mac), remember } };
}

/** Whether two rows say the same of a subject in every column, and this one is the newest of its history. */
function isSameSubject(a: FactRow, b: FactRow): boolean {
  return (
    a.owner_id === b.owner_id &&
    a.subject_ref === b.subject_ref &&
    a.record_version === b.record_version &&
    b.newest_version === b.record_version &&
    a.status === b.status &&
    a.document === b.document &&
    a.changed_at?.getTime() === b.changed_at?.getTime() &&
    a.mac === b.mac
  );
}

function isSameVenue(a: FactRow, b: FactRow): boolean {
  return (
    a.owner_id === b.owner_id &&
    a.venue_id === b.venue_id &&
    a.venue_name === b.venue_name &&
    a.venue_active === b.venue_active &&
    a.venue_version === b.venue_version &&
    a.venue_created_at?.getTime() === b.venue_created_at?.getTime() &&
    a.venue_updated_at?.getTime() === b.venue_updated_at?.getTime() &&
    a.venue_mac === b.venue_mac
  );
}

function venueOf(row: FactRow): VenueRecord | undefined {
  const { venue_id: venueId, venue_name: name, venue_active: active, venue_version: recordVersion } = row;
  const { venue_created_at: createdAt, venue_updated_at: updatedAt } = row;
  if (venueId === null || name === null || active === null || recordVersion === null) return undefined;
  if (createdAt === null || updatedAt === null) return undefined;
  return { environment: row.owner_id, venueId, name, active, recordVersion, createdAt, updatedAt };
}
