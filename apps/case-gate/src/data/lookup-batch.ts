import { byteaArray, int8Array, textArray, type Statement } from '@sealgate/storage';
import { eligibilityName } from '../domain/change-eligibility.ts';
import type { EntryIds } from '../domain/gate-caller.ts';
import type { KeyGrants } from '../domain/key-grants.ts';
import { seenName, venueName, type VenueRecord } from '../domain/versioned-record.ts';
import type { Guess, SubjectRow, VenueRow } from './entry-facts.ts';
import type { Known, KnownRows, KnownSubject } from './known-rows.ts';
import type { LedgerWitness } from './ledger-witness.ts';
import type { SeenVersions } from './seen-versions.ts';
import type { KeyRow } from './verified-keys.ts';

/** One who calls: a key, and the entries that are asked about with it. */
export interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

/**
 * A row for each question whose key is live. The columns of a key and of a venue are in the row of the question that first
 * names them, and null in all others.
 */
export interface LookupRow extends SubjectRow, KeyRow, VenueRow {
  /** Of the question, from 1. */
  readonly ord: number;
  readonly is_standby: boolean;
  /** Of the ids that were sent, those that the ledger holds. */
  readonly held: readonly string[] | null;
  /** An id of a guessed version under which the ledger holds something else than the subject's row says. */
  readonly conflict: string | null;
}

/** See prisma/migrations/0006_look_up.sql. */
const TEXT = 'SELECT * FROM gate.look_up_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)';

/** A key of a batch, and what was known of it when it was asked about. */
export interface AskedKey {
  readonly keyHash: Buffer;
  /** The question whose row has its columns, from 0. */
  readonly place: number;
  readonly known: Known<KeyRow, KeyGrants> | undefined;
  readonly venues: Map<string, AskedVenue>;
}

/** A venue that is asked about with a key. */
export interface AskedVenue {
  readonly venueId: string;
  /** As of a key. */
  readonly place: number;
  readonly known: Known<VenueRow, VenueRecord> | undefined;
}

/** A key with one entry or none, and what was known or thought of its subject. */
export interface Question {
  readonly key: AskedKey;
  readonly entry: { readonly subjectRef: string; readonly venue: AskedVenue } | undefined;
  readonly subject: Known<SubjectRow, KnownSubject> | undefined;
  readonly guess: Guess | undefined;
}

/** What is asked in one statement: the questions of each caller follow one another, at least one for each. */
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

/** The version of a subject that was registered and then approved: the one that most stand at. */
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
  // Whose environment it is, is known of the key.
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

/** The ids under which the ledger would hold a version after one that is known or guessed. */
function laterIdsOf({ keys, questions }: Batch): string[] {
  const ids: string[] = [];
  for (const { known, venues } of keys) {
    if (known !== undefined) ids.push(...known.nextIds);
    for (const venue of venues.values()) if (venue.known !== undefined) ids.push(...venue.known.nextIds);
  }
  for (const { subject, guess } of questions) ids.push(...((subject ?? guess)?.nextIds ?? []));
  return ids;
}
