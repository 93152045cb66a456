import { BoundedMap } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import type { LookedUp } from '../domain/check-entry.ts';
import { newestEpoch, standingOf, type DeclaredLoss } from '../domain/declared-losses.ts';
import {
  eligibilityName,
  eligibilityVersion,
  storedOf,
  storedStatus,
  type EligibilityRecord,
  type Subject,
  type SubjectRow,
} from '../domain/eligibility-record.ts';
import { KEYS, readKey, type GateCaller, type Key, type KeyColumns } from '../domain/key.ts';
import { readRow } from '../domain/model.ts';
import { isRowAuthentic, rowName, rowVersion } from '../domain/signed-row.ts';
import { VENUES, type Venue } from '../domain/venue.ts';
import { seenName } from '../domain/versioned-record.ts';
import type { PendingCheck, Refusal, SeenVersions } from './ledger-versions.ts';

/** Columns of a kind in the look-up. */
type Columns = Readonly<Record<string, unknown>>;

/** Key columns of the look-up, which returns live keys only. */
export type KeyRow = Omit<KeyColumns, 'revoked_at'> & {
  /** JSON text. */
  readonly grants: string;
};

/** A key with its MAC. */
export interface SignedKey {
  readonly row: Key;
  readonly mac: string;
}

const KEY_COLUMNS: readonly (keyof KeyRow)[] = [
  ...(['key_hash', 'id', 'owner_id', 'family_id', 'label', 'key_prefix', 'grants', 'replaces'] as const),
  ...(['created_at', 'expires_at', 'overlap_until'] as const),
];

/** `newest_version` is that of the history; a row that was found authentic is the newest. */
const SUBJECT_COLUMNS = ['record_version', 'newest_version', 'status', 'document', 'changed_at', 'mac'] as const;

/** Venue columns of the look-up; null where there is no row, or where an earlier row has them. */
export type VenueRow = Columns;

/** Columns of a venue, with their names in the look-up. */
const VENUE_COLUMNS = [...Object.keys(VENUES.model.properties), 'mac']
  .filter((column) => !(VENUES.id as readonly string[]).includes(column))
  .map((column) => [column, `venue_${column.replace('record_', '')}`] as const);
const VENUE_LOOKED_UP = VENUE_COLUMNS.map(([, name]) => name);

/** The columns of these kinds in the look-up. */
export const LOOKED_UP = [...KEY_COLUMNS, ...SUBJECT_COLUMNS, ...VENUE_LOOKED_UP];

/**
 * A row found authentic and the newest known to the ledger. Every check reads the row again, and takes the cached value
 * only if every column is the same; the same statement asks whether the ledger still holds none of `nextIds`. Rows are
 * kept without other columns, since twenty thousand of them must fit into the heap.
 */
export interface Known<Row, Value> {
  /** By `seenName`. */
  readonly name: string;
  readonly row: Row;
  readonly value: Value;
  readonly version: number;
  readonly nextIds: readonly string[];
}

/** A record, and the newest epoch when it was found confirmed. After a later one it must be checked again. */
interface ConfirmedRecord {
  readonly record: EligibilityRecord;
  readonly epoch: number;
}

/** What this process has verified, to save verifying it again. Forgetting entries costs time only. */
interface KnownRows {
  /** By hash of the key, as latin1. */
  readonly keys: Map<string, Known<KeyRow, SignedKey>>;
  /** By name. */
  readonly subjects: Map<string, Known<SubjectRow, ConfirmedRecord>>;
  readonly venues: Map<string, Known<VenueRow, Venue>>;
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
  readonly isOutdated: (known: Pick<Known<unknown, unknown>, 'nextIds'>) => boolean;
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
  readonly known: Known<SubjectRow, ConfirmedRecord> | undefined;
  readonly guess: Guess | undefined;
}

/** A venue that is asked about, with what was known of it when the question was sent. */
export interface VenueQuestion extends Pick<Venue, 'environment' | 'venue_id'> {
  readonly name: string;
  readonly known: Known<VenueRow, Venue> | undefined;
}

/** A subject of which nothing is known. */
export function newSubject(subject: Subject): SubjectQuestion {
  return { ...subject, name: seenName(eligibilityName(subject)), known: undefined, guess: undefined };
}

/** A venue of which nothing is known. */
export function newVenue(venue: Pick<Venue, 'environment' | 'venue_id'>): VenueQuestion {
  return { ...venue, name: seenName(rowName(VENUES, venue)), known: undefined };
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

/** A row to verify, and what is known of it. */
interface RowCheck<Row, Value> {
  readonly row: Row;
  readonly columns: readonly (string & keyof Row)[];
  readonly name: string;
  readonly cached: Known<Row, Value> | undefined;
  /** Caches the row, or forgets what was cached. */
  readonly keep: (known: Known<Row, Value> | undefined) => void;
  /** The content of a row that differs from the cached one. */
  readonly read: () => { readonly value: Value; readonly version: number } | 'corrupt' | undefined;
}

interface VerifiedRow<Value> {
  readonly value: Value;
  /** Undefined for a row that is as cached: the ledger was asked about it in the look-up. */
  readonly remember?: (nextIds: readonly string[]) => void;
}

/** Whether a row is authentic, and not older than what was seen or what the ledger holds. The same for every kind. */
function verifiedRow<Row, Value>(
  { row, columns, name, cached, keep, read }: RowCheck<Row, Value>,
  { seen, mark, isOutdated }: VerifyContext,
): VerifiedRow<Value> | 'corrupt' | undefined {
  const highest = seen.highestBefore(mark, name);
  if (cached !== undefined && columns.every((column) => isSame(cached.row[column], row[column]))) {
    if (!isOutdated(cached)) return cached.version < highest ? 'corrupt' : cached;
    keep(undefined);
    seen.see(name, cached.version + 1);
    return 'corrupt';
  }
  const found = read();
  if (found === undefined) return highest === 0 ? undefined : 'corrupt';
  if (found === 'corrupt' || found.version < highest) return 'corrupt';
  seen.see(name, found.version);
  const remember = (nextIds: readonly string[]) => {
    const own = Object.fromEntries(columns.map((column) => [column, row[column]])) as Row;
    keep({ name, row: own, ...found, nextIds });
  };
  return { value: found.value, remember };
}

function put<Value>(cache: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) cache.delete(key);
  else cache.set(key, value);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime();
  return Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b);
}

/** A key whose row is authentic and not older than what was seen or what the ledger holds. */
export interface VerifiedKey extends Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes'> {
  /** Whether the key was known when the question was sent and every column is unchanged. */
  readonly isKnown: boolean;
  readonly pendingCheck?: PendingCheck;
}

export function verifiedKey(
  row: KeyRow,
  cached: Known<KeyRow, SignedKey> | undefined,
  context: VerifyContext,
): VerifiedKey | 'corrupt' {
  const found = verifiedRow(
    {
      row,
      columns: KEY_COLUMNS,
      name: seenName([KEYS.kind, row.id]),
      cached,
      keep: (known) => put(context.known.keys, row.key_hash.toString('latin1'), known),
      read() {
        const { row: key, mac } = readKey({ ...row, revoked_at: null }, JSON.parse(row.grants));
        if (mac === undefined || !isRowAuthentic(KEYS, { row: key, mac }, context.macs.keys)) return 'corrupt';
        return { value: { row: key, mac }, version: key.record_version };
      },
    },
    context,
  );
  if (found === undefined || found === 'corrupt') return 'corrupt';
  const { value, remember } = found;
  const { key_id: keyId, family_id: familyId, environment, scopes } = value.row;
  const key = { keyId, familyId, environment, scopes, isKnown: remember === undefined };
  return remember === undefined
    ? key
    : { ...key, pendingCheck: { record: rowVersion(KEYS, value.row, value.mac), remember } };
}

interface VerifiedRecord {
  readonly record: EligibilityRecord;
  readonly isConfirmed: boolean;
}

/** Verifies the record of a subject. */
export function verifiedRecord(
  row: SubjectRow,
  { name, known, guess, ...subject }: SubjectQuestion,
  context: VerifyContext,
): Verified<VerifiedRecord> {
  const { macs, losses, ledgerAgrees } = context;
  const epoch = newestEpoch(losses);
  const found = verifiedRow(
    {
      row,
      columns: SUBJECT_COLUMNS,
      name,
      // After a later declaration a record must be checked again.
      cached: known?.value.epoch === epoch ? known : undefined,
      keep: (next) => put(context.known.subjects, name, next),
      read() {
        const stored = storedOf(row, subject, macs.eligibility);
        if (stored.kind !== 'record') return stored.kind === 'none' ? undefined : 'corrupt';
        return { value: { record: stored.record, epoch }, version: stored.record.record_version };
      },
    },
    context,
  );
  if (found === undefined || found === 'corrupt') return found;
  const { value, remember } = found;
  const { record } = value;
  if (remember === undefined) return { record, isConfirmed: true };
  const { review, mustBeHeld } = standingOf(record, losses);
  const isConfirmed = (review?.unconfirmed ?? null) === null;
  // Denied whatever the ledger says.
  if (storedStatus(record) !== 'eligible' || !isConfirmed) return { record, isConfirmed };
  const isChecked = guess?.version === record.record_version && ledgerAgrees(guess);
  if (mustBeHeld || !isChecked) {
    const pendingCheck = { record: eligibilityVersion(record, row.document!), mustBeHeld, remember };
    return { record, isConfirmed, pendingCheck };
  }
  remember(guess.nextIds);
  return { record, isConfirmed };
}

interface VerifiedVenue {
  readonly venue: Venue;
}

export function verifiedVenue(
  row: VenueRow,
  { name, known, ...venueId }: VenueQuestion,
  context: VerifyContext,
): Verified<VerifiedVenue> {
  const mac = row['venue_mac'];
  const found = verifiedRow(
    {
      row,
      columns: VENUE_LOOKED_UP,
      name,
      cached: known,
      keep: (next) => put(context.known.venues, name, next),
      read() {
        if (mac === null) return undefined;
        const own = VENUE_COLUMNS.map(([column, lookedUp]) => [column, row[lookedUp]]);
        const value = readRow(VENUES.model, { ...venueId, ...Object.fromEntries(own) });
        const isAuthentic = isRowAuthentic(VENUES, { row: value, mac }, context.macs.venues);
        return isAuthentic ? { value, version: value.record_version } : 'corrupt';
      },
    },
    context,
  );
  if (found === undefined || found === 'corrupt') return found;
  const { value: venue, remember } = found;
  // A closed venue is denied whatever the ledger says.
  if (remember === undefined || !venue.active) return { venue };
  return { venue, pendingCheck: { record: rowVersion(VENUES, venue, String(mac)), remember } };
}
