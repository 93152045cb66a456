import type { KeyedHasher } from '@sealgate/auth';
import { eligibilityName, eligibilityVersion } from '../domain/change-eligibility.ts';
import type { LookedUp } from '../domain/check-entry.ts';
import { newestEpoch, standingOf, type DeclaredLoss } from '../domain/declared-losses.ts';
import { storedStatus, type EligibilityRecord } from '../domain/eligibility-record.ts';
import {
  isVenueAuthentic,
  seenName,
  venueName,
  venueVersion,
  type VenueRecord,
  type VersionedRecord,
} from '../domain/versioned-record.ts';
import { storedOf } from './eligibility-store.ts';
import type { Known, KnownRows, KnownSubject } from './known-rows.ts';
import type { SeenVersions } from './seen-versions.ts';

/** What a row of the look-up says of a subject; null where there is none. */
export interface SubjectRow {
  readonly record_version: number | null;
  readonly status: string | null;
  readonly document: string | null;
  readonly changed_at: Date | null;
  readonly mac: string | null;
  readonly newest_version: number | null;
}

/** What a row of the look-up says of a venue; null where there is none, and where an earlier row says it. */
export interface VenueRow {
  readonly venue_name: string | null;
  readonly venue_active: boolean | null;
  readonly venue_version: number | null;
  readonly venue_created_at: Date | null;
  readonly venue_updated_at: Date | null;
  readonly venue_mac: string | null;
}

export interface FactMacs {
  readonly keys: KeyedHasher;
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
  /** Whether the ledger had nothing against a subject's row that stands at this version. */
  readonly isHeardOf: (guess: Guess) => boolean;
}

/** The version that a subject is thought to stand at: the statement that reads it asks the ledger about it too. */
export interface Guess {
  readonly version: number;
  /** Where the ledger may hold this version, and the one after it. */
  readonly ids: readonly string[];
  readonly nextIds: readonly string[];
}

/** A subject that is asked about, and what was known or thought of it when the question was sent. */
export interface SubjectQuestion {
  readonly environment: string;
  readonly subjectRef: string;
  readonly known: Known<SubjectRow, KnownSubject> | undefined;
  readonly guess: Guess | undefined;
}

/** Undefined stands for nothing there, 'corrupt' for what is not as it was written or was put back. */
export type Believed<Value> = { readonly value: Value; readonly unasked?: Unasked } | 'corrupt' | undefined;

/** Why what the tables say is not believed: the ledger contradicts it, does not hold what it must, or does not answer. */
export type Refusal = 'contradicted' | 'missing' | 'unavailable';

/** What is not to be believed, or did not come back with the others of its key: nobody enters on that. */
const NOTHING_KNOWN: LookedUp = { isIntact: false, isConfirmed: false, record: undefined, venue: undefined };

/** What is known of an entry, once the ledger has been heard: `refusalOf` tells what it said against a row. */
export function factsOf(
  record: Believed<BelievedRecord>,
  venue: Believed<VenueRecord>,
  refusalOf: (unasked: Unasked | undefined) => Refusal | undefined,
): LookedUp {
  if (record === 'corrupt' || venue === 'corrupt') return NOTHING_KNOWN;
  const refusals = [refusalOf(record?.unasked), refusalOf(venue?.unasked)];
  if (refusals.includes('contradicted')) return NOTHING_KNOWN;
  if (refusals.includes('unavailable')) return 'unavailable';
  const { record: believed, isConfirmed = true } = record?.value ?? {};
  return {
    isIntact: true,
    isConfirmed: isConfirmed && !refusals.includes('missing'),
    record: believed,
    venue: venue?.value,
  };
}

export interface BelievedRecord {
  readonly record: EligibilityRecord;
  readonly isConfirmed: boolean;
}

/** A subject's record; what was put back, or is not what was written, is corrupt, and a person is told. */
export function believedRecord(
  row: SubjectRow,
  question: SubjectQuestion,
  options: FactOptions,
): Believed<BelievedRecord> {
  const believed = judgedRecord(row, question, options);
  // An id in one environment: the operator who is called needs to know which row it is.
  if (believed === 'corrupt') options.onCorrupt(`subject ${question.subjectRef}`);
  return believed;
}

function judgedRecord(row: SubjectRow, question: SubjectQuestion, options: FactOptions): Believed<BelievedRecord> {
  const { seen, known, mark, isOutdated, losses } = options;
  const { known: then } = question;
  const name = seenName(eligibilityName(question));
  if (then === undefined || !isSameSubject(then.row, row) || then.value.epoch !== newestEpoch(losses))
    return newlyJudgedRecord(row, question, options);
  const { record } = then.value;
  if (!isOutdated(then)) {
    const isNewest = record.record_version >= seen.highestBefore(mark, name);
    return isNewest ? { value: { record, isConfirmed: true } } : 'corrupt';
  }
  known.subjects.delete(name);
  seen.see(name, record.record_version + 1);
  return 'corrupt';
}

function newlyJudgedRecord(
  row: SubjectRow,
  { environment, subjectRef, guess }: SubjectQuestion,
  { macs, seen, known, mark, isHeardOf, losses }: FactOptions,
): Believed<BelievedRecord> {
  const { record_version, status, document, changed_at, mac, newest_version } = row;
  const own = { record_version, status, document, changed_at, mac, newest_version };
  const stored = storedOf({ environment, subject_ref: subjectRef, ...own }, macs.eligibility);
  const name = seenName(eligibilityName({ environment, subjectRef }));
  const highest = seen.highestBefore(mark, name);
  if (stored.kind === 'none') return highest === 0 ? undefined : 'corrupt';
  if (stored.kind === 'corrupt' || stored.record.record_version < highest) return 'corrupt';
  const { record } = stored;
  seen.see(name, record.record_version);
  const { review, mustBeHeld } = standingOf(record, losses);
  const isConfirmed = (review?.unconfirmed ?? null) === null;
  const value = { record, isConfirmed };
  // What lets nobody in lets nobody in whatever the ledger says.
  if (storedStatus(record) !== 'eligible' || !isConfirmed) return { value };
  const epoch = newestEpoch(losses);
  const remember = (nextIds: readonly string[]) =>
    void known.subjects.set(name, { row: own, value: { record, epoch }, nextIds });
  const isHeard = guess?.version === record.record_version && isHeardOf(guess);
  if (mustBeHeld || !isHeard)
    return { value, unasked: { record: eligibilityVersion(record, row.document!), mustBeHeld, remember } };
  remember(guess.nextIds);
  return { value };
}

/** A venue that is asked about, and what was known of it when the question was sent. */
export interface VenueQuestion {
  readonly environment: string;
  readonly venueId: string;
  readonly known: Known<VenueRow, VenueRecord> | undefined;
}

/** A venue, likewise. */
export function believedVenue(row: VenueRow, question: VenueQuestion, options: FactOptions): Believed<VenueRecord> {
  const believed = judgedVenue(row, question, options);
  if (believed === 'corrupt') options.onCorrupt(`venue ${question.venueId}`);
  return believed;
}

function judgedVenue(
  row: VenueRow,
  { environment, venueId, known: then }: VenueQuestion,
  { macs, seen, known, mark, isOutdated }: FactOptions,
): Believed<VenueRecord> {
  const name = seenName(venueName({ environment, venueId }));
  const highest = seen.highestBefore(mark, name);
  if (then !== undefined && isSameVenue(then.row, row)) {
    const { value } = then;
    if (!isOutdated(then)) return value.recordVersion < highest ? 'corrupt' : { value };
    known.venues.delete(name);
    seen.see(name, value.recordVersion + 1);
    return 'corrupt';
  }
  const value = venueOf(row, { environment, venueId });
  if (value === undefined) return highest === 0 ? undefined : 'corrupt';
  if (!isVenueAuthentic(value, row.venue_mac, macs.venues) || value.recordVersion < highest) return 'corrupt';
  seen.see(name, value.recordVersion);
  if (!value.active) return { value };
  const { venue_name, venue_active, venue_version, venue_created_at, venue_updated_at, venue_mac } = row;
  const own = { venue_name, venue_active, venue_version, venue_created_at, venue_updated_at, venue_mac };
  const remember = (nextIds: readonly string[]) => void known.venues.set(name, { row: own, value, nextIds });
  return { value, unasked: { record: venueVersion(value, row.venue_mac), remember } };
}

/** Whether two rows say the same of a subject in every column, and this one is the newest of its history. */
function isSameSubject(a: SubjectRow, b: SubjectRow): boolean {
  return (
    a.record_version === b.record_version &&
    b.newest_version === b.record_version &&
    a.status === b.status &&
    a.document === b.document &&
    a.changed_at?.getTime() === b.changed_at?.getTime() &&
    a.mac === b.mac
  );
}

function isSameVenue(a: VenueRow, b: VenueRow): boolean {
  return (
    a.venue_name === b.venue_name &&
    a.venue_active === b.venue_active &&
    a.venue_version === b.venue_version &&
    a.venue_created_at?.getTime() === b.venue_created_at?.getTime() &&
    a.venue_updated_at?.getTime() === b.venue_updated_at?.getTime() &&
    a.venue_mac === b.venue_mac
  );
}

function venueOf(row: VenueRow, id: Pick<VenueRecord, 'environment' | 'venueId'>): VenueRecord | undefined {
  const { venue_name: name, venue_active: active, venue_version: recordVersion } = row;
  const { venue_created_at: createdAt, venue_updated_at: updatedAt } = row;
  if (name === null || active === null || recordVersion === null) return undefined;
  if (createdAt === null || updatedAt === null) return undefined;
  return { ...id, name, active, recordVersion, createdAt, updatedAt };
}
