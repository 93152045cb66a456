import type { KeyedHasher } from '@sealgate/auth';
import { eligibilityName, eligibilityVersion } from '../domain/change-eligibility.ts';
import type { LookedUp } from '../domain/check-entry.ts';
import { newestEpoch, standingOf, type DeclaredLoss } from '../domain/declared-losses.ts';
import { storedStatus, type EligibilityRecord } from '../domain/eligibility-record.ts';
import { isVenueAuthentic, venueName, venueVersion, type VenueRecord } from '../domain/venue-record.ts';
import { seenName, type VersionedRecord } from '../domain/versioned-record.ts';
import { storedOf } from './eligibility-store.ts';
import type { Known, KnownRows, KnownSubject } from './known-rows.ts';
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
export interface Unasked {
  readonly record: VersionedRecord;
  /** Whether the ledger also has to hold this version: losses were declared since it was made. */
  readonly mustBeHeld?: boolean;
  /** Called where the ledger has nothing against it. */
  readonly remember: (nextIds: readonly string[]) => void;
}

export interface FactOptions {
  readonly macs: FactMacs;
  readonly seen: SeenVersions;
  readonly known: KnownRows;
  readonly onCorrupt: (what: string) => void;
  /** As of the time of the question. */
  readonly losses: readonly DeclaredLoss[];
  /** Taken before the question was sent. */
  readonly mark: number;
  /** Whether the ledger holds a version after it. */
  readonly isOutdated: (known: Known<unknown, unknown>) => boolean;
}

/** What was known when the question was sent: the statement asked the ledger about it too. */
export interface KnownThen {
  readonly subject: Known<FactRow, KnownSubject> | undefined;
  readonly venue: Known<FactRow, VenueRecord> | undefined;
}

export interface Facts {
  readonly facts: LookedUp;
  readonly unasked: readonly Unasked[];
}

/** Undefined stands for nothing there, 'corrupt' for what is not as it was written or was put back. */
type Believed<Value> = { readonly value: Value; readonly unasked?: Unasked } | 'corrupt' | undefined;

/** What is known of an entry; what was put back, or is not what was written, makes it not intact. */
export function factsOf(row: FactRow, then: KnownThen, options: FactOptions): Facts {
  const record = believedRecord(row, then.subject, options);
  const venue = believedVenue(row, then.venue, options);
  if (record !== 'corrupt' && venue !== 'corrupt') {
    const { record: believed, isConfirmed = true } = record?.value ?? {};
    const facts = { isIntact: true, isConfirmed, record: believed, venue: venue?.value };
    if (record?.unasked === undefined && venue?.unasked === undefined) return { facts, unasked: [] };
    return { facts, unasked: [record?.unasked, venue?.unasked].filter((each) => each !== undefined) };
  }
  // Ids of a venue and a subject in one environment: the operator who is called needs to know which row it is.
  options.onCorrupt(record === 'corrupt' ? `subject ${row.subject_ref}` : `venue ${row.venue_id}`);
  return NOTHING_FOUND;
}

/** What is not to be believed, or did not come back with the others of its key: nobody enters on that. */
export const NOTHING_KNOWN: LookedUp = { isIntact: false, isConfirmed: false, record: undefined, venue: undefined };
export const NOTHING_FOUND: Facts = { facts: NOTHING_KNOWN, unasked: [] };

/** What is left of facts once the ledger contradicts them, does not hold what it must, or does not answer. */
export function refused(facts: LookedUp | undefined, why: 'contradicted' | 'missing' | 'unavailable'): LookedUp {
  if (why === 'unavailable') return why;
  return why === 'missing' && typeof facts === 'object' ? { ...facts, isConfirmed: false } : NOTHING_KNOWN;
}

interface BelievedRecord {
  readonly record: EligibilityRecord;
  readonly isConfirmed: boolean;
}

function believedRecord(row: FactRow, then: KnownThen['subject'], options: FactOptions): Believed<BelievedRecord> {
  const { owner_id: environment, subject_ref: subjectRef } = row;
  if (subjectRef === null) return undefined;
  const { macs, seen, known, mark, isOutdated, losses } = options;
  const name = seenName(eligibilityName({ environment, subjectRef }));
  const highest = seen.highestBefore(mark, name);
  const epoch = newestEpoch(losses);
  if (then !== undefined && isSameSubject(then.row, row) && then.value.epoch === epoch) {
    const { record } = then.value;
    if (!isOutdated(then))
      return record.record_version < highest ? 'corrupt' : { value: { record, isConfirmed: true } };
    known.subjects.delete(name);
    seen.see(name, record.record_version + 1);
    return 'corrupt';
  }
  const stored = storedOf({ ...row, environment, subject_ref: subjectRef }, macs.eligibility);
  if (stored.kind === 'none') return highest === 0 ? undefined : 'corrupt';
  if (stored.kind === 'corrupt' || stored.record.record_version < highest) return 'corrupt';
  const { record } = stored;
  seen.see(name, record.record_version);
  const { review, mustBeHeld } = standingOf(record, losses);
  const isConfirmed = (review?.unconfirmed ?? null) === null;
  const value = { record, isConfirmed };
  // What lets nobody in lets nobody in whatever the ledger says.
  if (storedStatus(record) !== 'eligible' || !isConfirmed) return { value };
  const remember = (nextIds: readonly string[]) => known.subjects.set(name, { row, value: { record, epoch }, nextIds });
  return { value, unasked: { record: eligibilityVersion(record, row.document!), mustBeHeld, remember } };
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
  return { value, unasked: { record: venueVersion(value, row.venue_mac), remember } };
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
