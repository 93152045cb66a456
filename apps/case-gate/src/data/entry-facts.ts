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
import type { Known, KnownRows, KnownSubject, SeenVersions } from './known-rows.ts';

/** Subject columns of the look-up; null where there is no row. */
export interface SubjectRow {
  readonly record_version: number | null;
  readonly status: string | null;
  readonly document: string | null;
  readonly changed_at: Date | null;
  readonly mac: string | null;
  readonly newest_version: number | null;
}

/** Venue columns of the look-up; null where there is no row, or where an earlier row has them. */
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

/** An authentic row that would allow entry, and about which the ledger has not been asked. */
export interface PendingCheck {
  readonly record: VersionedRecord;
  /** Whether the ledger must also hold this version, because losses were declared since it was made. */
  readonly mustBeHeld?: boolean;
  /** Called where the ledger does not contradict it. */
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
  /** Whether the ledger holds a later version. */
  readonly isOutdated: (known: Known<unknown, unknown>) => boolean;
  /** Whether the ledger does not contradict a subject's row at this version. */
  readonly ledgerAgrees: (guess: Guess) => boolean;
}

/** The expected version of a subject. The statement that reads the subject asks the ledger about it too. */
export interface Guess {
  readonly version: number;
  /** Ledger ids of this version, and of the next one. */
  readonly ids: readonly string[];
  readonly nextIds: readonly string[];
}

/** A subject that is asked about, with what was known or guessed when the question was sent. */
export interface SubjectQuestion {
  readonly environment: string;
  readonly subjectRef: string;
  readonly known: Known<SubjectRow, KnownSubject> | undefined;
  readonly guess: Guess | undefined;
}

/** Undefined: there is no row. 'corrupt': the row fails its MAC or was rolled back. */
export type Verified<Value> = { readonly value: Value; readonly pendingCheck?: PendingCheck } | 'corrupt' | undefined;

/** Why a row is refused: the ledger contradicts it, does not hold what it must hold, or does not answer. */
export type Refusal = 'contradicted' | 'missing' | 'unavailable';

/** For rows that are corrupt or missing from the answer: denies entry. */
const NOT_INTACT: LookedUp = { isIntact: false, isConfirmed: false, record: undefined, venue: undefined };

/** The facts about an entry, once the ledger was asked: `refusalOf` returns its answer about a row. */
export function factsOf(
  record: Verified<VerifiedRecord>,
  venue: Verified<VenueRecord>,
  refusalOf: (pendingCheck: PendingCheck | undefined) => Refusal | undefined,
): LookedUp {
  if (record === 'corrupt' || venue === 'corrupt') return NOT_INTACT;
  const refusals = [refusalOf(record?.pendingCheck), refusalOf(venue?.pendingCheck)];
  if (refusals.includes('contradicted')) return NOT_INTACT;
  if (refusals.includes('unavailable')) return 'unavailable';
  const { record: verified, isConfirmed = true } = record?.value ?? {};
  return {
    isIntact: true,
    isConfirmed: isConfirmed && !refusals.includes('missing'),
    record: verified,
    venue: venue?.value,
  };
}

export interface VerifiedRecord {
  readonly record: EligibilityRecord;
  readonly isConfirmed: boolean;
}

/** Verifies the record of a subject. Reports a corrupt one. */
export function verifiedRecord(
  row: SubjectRow,
  question: SubjectQuestion,
  options: FactOptions,
): Verified<VerifiedRecord> {
  const verified = checkRecord(row, question, options);
  // Logs the id, because an operator must find the row.
  if (verified === 'corrupt') options.onCorrupt(`subject ${question.subjectRef}`);
  return verified;
}

function checkRecord(row: SubjectRow, question: SubjectQuestion, options: FactOptions): Verified<VerifiedRecord> {
  const { seen, known, mark, isOutdated, losses } = options;
  const { known: cached } = question;
  const name = seenName(eligibilityName(question));
  if (cached === undefined || !isSameSubject(cached.row, row) || cached.value.epoch !== newestEpoch(losses))
    return checkNewRecord(row, question, options);
  const { record } = cached.value;
  if (!isOutdated(cached)) {
    const isNewest = record.record_version >= seen.highestBefore(mark, name);
    return isNewest ? { value: { record, isConfirmed: true } } : 'corrupt';
  }
  known.subjects.delete(name);
  seen.see(name, record.record_version + 1);
  return 'corrupt';
}

function checkNewRecord(
  row: SubjectRow,
  { environment, subjectRef, guess }: SubjectQuestion,
  { macs, seen, known, mark, ledgerAgrees, losses }: FactOptions,
): Verified<VerifiedRecord> {
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
  // Denied whatever the ledger says.
  if (storedStatus(record) !== 'eligible' || !isConfirmed) return { value };
  const epoch = newestEpoch(losses);
  const remember = (nextIds: readonly string[]) =>
    void known.subjects.set(name, { row: own, value: { record, epoch }, nextIds });
  const isChecked = guess?.version === record.record_version && ledgerAgrees(guess);
  if (mustBeHeld || !isChecked)
    return { value, pendingCheck: { record: eligibilityVersion(record, row.document!), mustBeHeld, remember } };
  remember(guess.nextIds);
  return { value };
}

/** A venue that is asked about, with what was known of it when the question was sent. */
export interface VenueQuestion {
  readonly environment: string;
  readonly venueId: string;
  readonly known: Known<VenueRow, VenueRecord> | undefined;
}

/** Verifies a venue. Reports a corrupt one. */
export function verifiedVenue(row: VenueRow, question: VenueQuestion, options: FactOptions): Verified<VenueRecord> {
  const verified = checkVenue(row, question, options);
  if (verified === 'corrupt') options.onCorrupt(`venue ${question.venueId}`);
  return verified;
}

function checkVenue(
  row: VenueRow,
  { environment, venueId, known: cached }: VenueQuestion,
  { macs, seen, known, mark, isOutdated }: FactOptions,
): Verified<VenueRecord> {
  const name = seenName(venueName({ environment, venueId }));
  const highest = seen.highestBefore(mark, name);
  if (cached !== undefined && isSameVenue(cached.row, row)) {
    const { value } = cached;
    if (!isOutdated(cached)) return value.recordVersion < highest ? 'corrupt' : { value };
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
  return { value, pendingCheck: { record: venueVersion(value, row.venue_mac), remember } };
}

/** Whether both rows are equal in every column and the second is the newest of its history. */
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
