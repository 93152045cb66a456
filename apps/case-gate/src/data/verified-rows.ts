import { BoundedMap } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import type { LookedUp } from '../domain/check-entry.ts';
import { newestEpoch, standingOf, type DeclaredLoss } from '../domain/declared-losses.ts';
import {
  eligibilityVersion,
  storedOf,
  storedStatus,
  type EligibilityRecord,
  type Subject,
  type SubjectRow,
} from '../domain/eligibility-record.ts';
import {
  authenticGrants,
  keyName,
  keyVersion,
  type GateCaller,
  type KeyGrants,
  type KeyState,
} from '../domain/key-grants.ts';
import { isVenueAuthentic, seenName, venueVersion, type VenueRecord } from '../domain/versioned-record.ts';
import type { PendingCheck, Refusal, SeenVersions } from './ledger-versions.ts';

/** Key columns of the look-up, which returns live keys only. */
export interface KeyRow {
  readonly key_hash: Buffer;
  readonly id: string;
  readonly owner_id: string;
  readonly family_id: string;
  readonly label: string;
  readonly key_prefix: string;
  /** JSON text. */
  readonly grants: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly overlap_until: Date | null;
  readonly replaces: string | null;
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

/**
 * A row found authentic and the newest known to the ledger. Every check reads the row again, and takes the cached value
 * only if every column is the same; the same statement asks whether the ledger still holds none of `nextIds`.
 */
export interface Known<Row, Value> {
  /** By `seenName`. */
  readonly name: string;
  readonly row: Row;
  readonly value: Value;
  readonly nextIds: readonly string[];
}

/** A record, and the newest epoch when it was found confirmed. After a later one it must be checked again. */
type KnownSubject = Known<SubjectRow, { readonly record: EligibilityRecord; readonly epoch: number }>;

/**
 * What this process has verified, to save verifying it again. Forgetting entries costs time only. Rows are copied
 * without other columns, since twenty thousand of them must fit into the heap.
 */
interface KnownRows {
  /** By hash of the key, as latin1. */
  readonly keys: Map<string, Known<KeyRow, KeyGrants>>;
  /** By name. */
  readonly subjects: Map<string, KnownSubject>;
  readonly venues: Map<string, Known<VenueRow, VenueRecord>>;
}

/** Past `most` rows of a kind the oldest entry is evicted. */
export function knownRows(most: number): KnownRows {
  return { keys: new BoundedMap(most), subjects: new BoundedMap(most), venues: new BoundedMap(most) };
}

/** What the rows of one answer are verified with. */
export interface VerifyContext {
  readonly macs: { readonly keys: KeyedHasher; readonly eligibility: KeyedHasher; readonly venues: KeyedHasher };
  readonly seen: SeenVersions;
  /** Rows found authentic and newest before. */
  readonly known: KnownRows;
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
interface Guess {
  readonly version: number;
  /** Ledger ids of this version, and of the next one. */
  readonly ids: readonly string[];
  readonly nextIds: readonly string[];
}

/** A subject that is asked about, with what was known or guessed when the question was sent. */
export interface SubjectQuestion extends Subject {
  /** By `seenName`, like that of a venue. */
  readonly name: string;
  readonly known: KnownSubject | undefined;
  readonly guess: Guess | undefined;
}

/** A venue that is asked about, with what was known of it when the question was sent. */
export interface VenueQuestion {
  readonly environment: string;
  readonly venueId: string;
  readonly name: string;
  readonly known: Known<VenueRow, VenueRecord> | undefined;
}

/** Undefined: there is no row. 'corrupt': the row fails its MAC or was rolled back. */
export type Verified<Facts> = (Facts & { readonly pendingCheck?: PendingCheck }) | 'corrupt' | undefined;

/** For rows that are corrupt or missing from the answer: denies entry. */
const NOT_INTACT: LookedUp = { isIntact: false, isConfirmed: false, record: undefined, venue: undefined };

/** The facts about an entry, once the ledger was asked: `refusalOf` returns its answer about a row. */
export function factsOf(
  subject: Verified<VerifiedRecord>,
  venue: Verified<VerifiedVenue>,
  refusalOf: (pendingCheck: PendingCheck | undefined) => Refusal | undefined,
): LookedUp {
  if (subject === 'corrupt' || venue === 'corrupt') return NOT_INTACT;
  const ofSubject = refusalOf(subject?.pendingCheck);
  const ofVenue = refusalOf(venue?.pendingCheck);
  if (ofSubject === 'contradicted' || ofVenue === 'contradicted') return NOT_INTACT;
  if (ofSubject === 'unavailable' || ofVenue === 'unavailable') return 'unavailable';
  return {
    isIntact: true,
    isConfirmed: (subject?.isConfirmed ?? true) && ofSubject !== 'missing' && ofVenue !== 'missing',
    record: subject?.record,
    venue: venue?.venue,
  };
}

/** A key whose row is authentic and not older than what was seen or what the ledger holds. */
export interface VerifiedKey extends Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes'> {
  /** Whether the key was known when the question was sent and every column is unchanged. */
  readonly isKnown: boolean;
  readonly pendingCheck?: PendingCheck;
}

export function verifiedKey(
  row: KeyRow,
  cached: Known<KeyRow, KeyGrants> | undefined,
  { macs, seen, known, mark, isOutdated }: VerifyContext,
): VerifiedKey | 'corrupt' {
  const isKnown = cached !== undefined && isSameKey(cached.row, row);
  const grants = isKnown ? cached.value : authenticGrants(keyStateOf(row), JSON.parse(row.grants), macs.keys);
  if (grants === undefined) return 'corrupt';
  const name = isKnown ? cached.name : seenName(keyName(row.id));
  const hash = row.key_hash.toString('latin1');
  const { version, scopes } = grants;
  if (isKnown && isOutdated(cached)) {
    known.keys.delete(hash);
    seen.see(name, version + 1);
    return 'corrupt';
  }
  if (version < seen.highestBefore(mark, name)) return 'corrupt';
  const key = { keyId: row.id, familyId: row.family_id, environment: row.owner_id, scopes, isKnown };
  if (isKnown) return key;
  seen.see(name, version);
  const remember = (nextIds: readonly string[]) =>
    void known.keys.set(hash, { name, row: ownKeyColumns(row), value: grants, nextIds });
  return { ...key, pendingCheck: { record: keyVersion(keyStateOf(row), grants), remember } };
}

interface VerifiedRecord {
  readonly record: EligibilityRecord;
  readonly isConfirmed: boolean;
}

/** Verifies the record of a subject. */
export function verifiedRecord(
  row: SubjectRow,
  question: SubjectQuestion,
  context: VerifyContext,
): Verified<VerifiedRecord> {
  const { seen, known, mark, isOutdated, losses } = context;
  const { known: cached, name } = question;
  if (cached === undefined || !isSameSubject(cached.row, row) || cached.value.epoch !== newestEpoch(losses))
    return newRecord(row, question, context);
  const { record } = cached.value;
  if (!isOutdated(cached)) {
    const isNewest = record.record_version >= seen.highestBefore(mark, name);
    return isNewest ? { record, isConfirmed: true } : 'corrupt';
  }
  known.subjects.delete(name);
  seen.see(name, record.record_version + 1);
  return 'corrupt';
}

/** Verifies a record that the process does not know, or that differs from what it knows. */
function newRecord(
  row: SubjectRow,
  question: SubjectQuestion,
  { macs, seen, known, mark, ledgerAgrees, losses }: VerifyContext,
): Verified<VerifiedRecord> {
  const { name, guess } = question;
  const stored = storedOf(row, question, macs.eligibility);
  const highest = seen.highestBefore(mark, name);
  if (stored.kind === 'none') return highest === 0 ? undefined : 'corrupt';
  if (stored.kind === 'corrupt' || stored.record.record_version < highest) return 'corrupt';
  const { record } = stored;
  seen.see(name, record.record_version);
  const { review, mustBeHeld } = standingOf(record, losses);
  const isConfirmed = (review?.unconfirmed ?? null) === null;
  // Denied whatever the ledger says.
  if (storedStatus(record) !== 'eligible' || !isConfirmed) return { record, isConfirmed };
  const epoch = newestEpoch(losses);
  const remember = (nextIds: readonly string[]) =>
    void known.subjects.set(name, { name, row: ownSubjectColumns(row), value: { record, epoch }, nextIds });
  const isChecked = guess?.version === record.record_version && ledgerAgrees(guess);
  if (mustBeHeld || !isChecked) {
    const pendingCheck = { record: eligibilityVersion(record, row.document!), mustBeHeld, remember };
    return { record, isConfirmed, pendingCheck };
  }
  remember(guess.nextIds);
  return { record, isConfirmed };
}

interface VerifiedVenue {
  readonly venue: VenueRecord;
}

export function verifiedVenue(
  row: VenueRow,
  { environment, venueId, name, known: cached }: VenueQuestion,
  { macs, seen, known, mark, isOutdated }: VerifyContext,
): Verified<VerifiedVenue> {
  const highest = seen.highestBefore(mark, name);
  if (cached !== undefined && isSameVenue(cached.row, row)) {
    const { value: venue } = cached;
    if (!isOutdated(cached)) return venue.recordVersion < highest ? 'corrupt' : { venue };
    known.venues.delete(name);
    seen.see(name, venue.recordVersion + 1);
    return 'corrupt';
  }
  const venue = venueOf(row, { environment, venueId });
  if (venue === undefined) return highest === 0 ? undefined : 'corrupt';
  if (!isVenueAuthentic(venue, row.venue_mac, macs.venues) || venue.recordVersion < highest) return 'corrupt';
  seen.see(name, venue.recordVersion);
  if (!venue.active) return { venue };
  const remember = (nextIds: readonly string[]) =>
    void known.venues.set(name, { name, row: ownVenueColumns(row), value: venue, nextIds });
  return { venue, pendingCheck: { record: venueVersion(venue, row.venue_mac), remember } };
}

function keyStateOf(row: KeyRow): KeyState {
  const { id, owner_id: environment, family_id: familyId, label, key_prefix: keyPrefix, replaces } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at, overlapUntil: row.overlap_until };
  return { id, environment, familyId, label, keyPrefix, keyHash: row.key_hash, replaces, ...times, revokedAt: null };
}

function venueOf(row: VenueRow, id: Pick<VenueRecord, 'environment' | 'venueId'>): VenueRecord | undefined {
  const { venue_name: name, venue_active: active, venue_version: recordVersion } = row;
  const { venue_created_at: createdAt, venue_updated_at: updatedAt } = row;
  if (name === null || active === null || recordVersion === null) return undefined;
  if (createdAt === null || updatedAt === null) return undefined;
  return { ...id, name, active, recordVersion, createdAt, updatedAt };
}

/** Whether both rows are equal in every column that decides. */
function isSameKey(a: KeyRow, b: KeyRow): boolean {
  return (
    a.id === b.id &&
    a.owner_id === b.owner_id &&
    a.family_id === b.family_id &&
    a.label === b.label &&
    a.key_prefix === b.key_prefix &&
    a.replaces === b.replaces &&
    a.grants === b.grants &&
    a.created_at.getTime() === b.created_at.getTime() &&
    a.expires_at?.getTime() === b.expires_at?.getTime() &&
    a.overlap_until?.getTime() === b.overlap_until?.getTime() &&
    a.key_hash.equals(b.key_hash)
  );
}

function ownKeyColumns(row: KeyRow): KeyRow {
  const { key_hash, id, owner_id, family_id, label, key_prefix, grants, replaces } = row;
  const { created_at, expires_at, overlap_until } = row;
  const names = { id, owner_id, family_id, label, key_prefix, replaces };
  return { key_hash, ...names, grants, created_at, expires_at, overlap_until };
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

function ownSubjectColumns(row: SubjectRow): SubjectRow {
  const { record_version, status, document, changed_at, mac, newest_version } = row;
  return { record_version, status, document, changed_at, mac, newest_version };
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

function ownVenueColumns(row: VenueRow): VenueRow {
  const { venue_name, venue_active, venue_version, venue_created_at, venue_updated_at, venue_mac } = row;
  return { venue_name, venue_active, venue_version, venue_created_at, venue_updated_at, venue_mac };
}
