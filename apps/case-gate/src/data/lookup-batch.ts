import { byteaArray, int8Array, textArray, type Statement, type Sql } from '@sealgate/storage';
import { eligibilityName } from '../domain/change-eligibility.ts';
import type { KeyGrants } from '../domain/key-grants.ts';
import type { EntryIds } from '../domain/check-entry.ts';
import { seenName, venueName, type VenueRecord } from '../domain/versioned-record.ts';
import type { Guess, SubjectRow, VenueRow } from './entry-facts.ts';
import type { Known, KnownRows, KnownSubject, SeenVersions } from './known-rows.ts';
import type { LedgerWitness } from './ledger-versions.ts';
import type { KeyRow } from './verified-keys.ts';

/** A key to look up, and the entries that are asked about with it. */
export interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

/**
 * One row for each question whose key is live. Columns of a key and of a venue are set in the row of the first question
 * that names them, and null in all others.
 */
export interface LookupRow extends SubjectRow, KeyRow, VenueRow {
  /** Position of the question, from 1. */
  readonly ord: number;
  readonly is_standby: boolean;
  /** Those of the given ids that the ledger holds. */
  readonly held: readonly string[] | null;
  /** An id of a guessed version whose ledger record differs from the subject's row. */
  readonly conflict: string | null;
}

/** See prisma/migrations/0006_look_up.sql. */
const TEXT = 'SELECT * FROM gate.look_up_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)';

/** A key of a batch, with what was known of it when the question was sent. */
export interface AskedKey {
  readonly keyHash: Buffer;
  /** Position of the question whose row has its columns, from 0. */
  readonly place: number;
  readonly known: Known<KeyRow, KeyGrants> | undefined;
  readonly venues: Map<string, AskedVenue>;
}

/** A venue that is asked about with a key. */
export interface AskedVenue {
  readonly venueId: string;
  /** Like that of a key. */
  readonly place: number;
  readonly known: Known<VenueRow, VenueRecord> | undefined;
}

/** A key with at most one entry, and what was known or guessed of its subject. */
export interface Question {
  readonly key: AskedKey;
  readonly entry: { readonly subjectRef: string; readonly venue: AskedVenue } | undefined;
  readonly subject: Known<SubjectRow, KnownSubject> | undefined;
  readonly guess: Guess | undefined;
}

/** The questions of one statement. Those of a caller are consecutive, at least one for each. */
export interface Batch {
  readonly keys: readonly AskedKey[];
  readonly questions: readonly Question[];
}

export interface BatchParts {
  readonly known: KnownRows;
  readonly seen: SeenVersions;
  readonly witness: Pick<LedgerWitness, 'channel' | 'idsOf' | 'nextIds'>;
  readonly now: () => number;
}

/** The version of a subject that was registered and then approved, which most subjects have. */
const USUAL_VERSION = 2;

export function batchOf(parts: BatchParts, asked: readonly Asked[]): Batch {
  const keys = new Map<string, AskedKey>();
  const questions: Question[] = [];
  for (const { keyHash, entries } of asked) {
    const name = keyHash.toString('latin1');
    let key = keys.get(name);
    if (key === undefined) {
      key = { keyHash, place: questions.length, known: parts.known.keys.get(name), venues: new Map() };
      keys.set(name, key);
    }
    if (entries.length === 0) questions.push({ key, entry: undefined, subject: undefined, guess: undefined });
    for (const entry of entries) questions.push(questionOf(parts, entry, { key, place: questions.length }));
  }
  return { keys: [...keys.values()], questions };
}

function questionOf(
  { known, seen, witness }: BatchParts,
  { subjectRef, venueId }: EntryIds,
  { key, place }: { readonly key: AskedKey; readonly place: number },
): Question {
  // Known only of a known key.
  const environment = key.known?.row.owner_id;
  let venue = key.venues.get(venueId);
  if (venue === undefined) {
    const name = environment === undefined ? undefined : seenName(venueName({ environment, venueId }));
    venue = { venueId, place, known: name === undefined ? undefined : known.venues.get(name) };
    key.venues.set(venueId, venue);
  }
  const entry = { subjectRef, venue };
  if (environment === undefined) return { key, entry, subject: undefined, guess: undefined };
  const name = eligibilityName({ environment, subjectRef });
  const subject = known.subjects.get(seenName(name));
  if (subject !== undefined) return { key, entry, subject, guess: undefined };
  const version = seen.highest(seenName(name)) ?? USUAL_VERSION;
  const guess = { version, ids: witness.idsOf({ name, version }), nextIds: witness.nextIds({ name, version }) };
  return { key, entry, subject, guess };
}

export function statementOf({ witness, now }: BatchParts, { keys, questions }: Batch): Statement {
  const guessed = questions.flatMap(({ key, entry, guess }) =>
    guess === undefined ? [] : guess.ids.map((id) => ({ key: key.known!.row, entry: entry!, guess, id })),
  );
  const values = [
    byteaArray(questions.map(({ key }) => key.keyHash)),
    questions.map(({ key }, place) => key.place === place),
    textArray(questions.map(({ entry }) => entry?.subjectRef ?? null)),
    textArray(questions.map(({ entry }, place) => (entry?.venue.place === place ? entry.venue.venueId : null))),
    new Date(now()),
    witness.channel,
    textArray(laterIdsOf({ keys, questions })),
    textArray(guessed.map(({ key }) => key.owner_id)),
    textArray(guessed.map(({ entry }) => entry.subjectRef)),
    int8Array(guessed.map(({ guess }) => guess.version)),
    textArray(guessed.map(({ id }) => id)),
  ];
  return { name: 'gate callers', text: TEXT, values };
}

/** Ledger ids of the versions after those known or guessed. */
function laterIdsOf({ keys, questions }: Batch): string[] {
  const ids: string[] = [];
  for (const { known, venues } of keys) {
    if (known !== undefined) ids.push(...known.nextIds);
    for (const venue of venues.values()) if (venue.known !== undefined) ids.push(...venue.known.nextIds);
  }
  for (const { subject, guess } of questions) ids.push(...((subject ?? guess)?.nextIds ?? []));
  return ids;
}

/**
 * Touches every table and function that a check reads, including the ledger's, without reading a row. So whatever
 * blocks checks (no free connection, a lock, a standby in place of the primary) blocks this too. Never prepared: for a
 * cached plan PostgreSQL locks only the tables that the plan still reads.
 */
const READINESS_TEXT = `SELECT pg_is_in_recovery() AS is_standby, EXISTS
    (SELECT FROM gate.api_keys, gate.eligibility, gate.eligibility_history, gate.venues WHERE false) AS is_there,
    ledger.held_v2('', '{}') AS held, (SELECT count(*) FROM ledger.epochs_v1('{}')) AS epochs`;

/** Whether the gate could look something up now. Settles within `withinMs`; never rejects. */
export async function canLookUp(gateSql: Sql, withinMs: number): Promise<boolean> {
  try {
    const [row] = await gateSql.query<{ is_standby: boolean }>({ text: READINESS_TEXT }, { deadlineMs: withinMs });
    return row?.is_standby === false;
  } catch {
    // Whatever the error, every check would be denied now.
    return false;
  }
}
