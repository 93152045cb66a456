import { TickBatcher } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { haltedIn } from '@sealgate/ledger-embedded';
import { ChannelHaltedError } from '@sealgate/ledger-port';
import {
  byteaArray,
  DatabaseUnavailableError,
  int8Array,
  textArray,
  type Sql,
  type Statement,
} from '@sealgate/storage';
import type { EntryIds, LookedUp } from '../domain/check-entry.ts';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import { eligibilityName, type SubjectRow } from '../domain/eligibility-record.ts';
import type { GateCaller } from '../domain/key.ts';
import { seenName } from '../domain/versioned-record.ts';
import { askWitness, type LedgerWitness, type PendingCheck, type Refusal } from './ledger-versions.ts';
import {
  factsOf,
  newSubject,
  newVenue,
  verifiedKey,
  verifiedRecord,
  verifiedVenue,
  type KeyRow,
  type Known,
  type SignedKey,
  type SubjectQuestion,
  type VenueQuestion,
  type VenueRow,
  type VerifiedKey,
  type VerifyContext,
  LOOKED_UP,
} from './verified-rows.ts';

/** A live key, and the facts about each entry that was asked about, in that order. */
export interface FoundCaller extends Omit<GateCaller, 'bucket'> {
  readonly found: readonly LookedUp[];
}

export interface CallerLookups {
  /**
   * Looks up the live key with this hash and the facts about the entries, in one round trip to the database, plus one
   * to the ledger for rows that this process meets for the first time. Undefined where there is no such key. Settles
   * within `withinMs`.
   * @throws AppError UNAVAILABLE when the database does not answer; that is never reported as "no such key".
   */
  find(keyHash: Buffer, entries: readonly EntryIds[], withinMs: number): Promise<FoundCaller | undefined>;
}

export interface CallerLookupsOptions extends Pick<VerifyContext, 'macs' | 'seen' | 'known'> {
  /** The primary only: a replica may lag. */
  readonly sql: Sql;
  /** Asked about every key, and every record and venue that would allow entry, that is not in `known`. */
  readonly witness: LedgerWitness;
  /** Declared losses of ledger records; see `LossWatch.current`. */
  readonly losses: () => Promise<readonly DeclaredLoss[]>;
  readonly now: () => number;
  /** Deadline of one query. */
  readonly deadlineMs: number;
  /** Called for a row that fails its integrity check. */
  readonly onCorrupt: (what: string) => void;
  /** Maximum entries in the queue. Past it only keys are looked up. */
  readonly maxEntries?: number;
  /** Concurrent statements. */
  readonly maxRunning?: number;
}

/** A key to look up, and the entries that are asked about with it. */
interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

/** 'unavailable': the ledger did not answer the question about the key. */
type Outcome = FoundCaller | 'unavailable' | undefined;

const MAX_AT_ONCE = 128;
const MAX_WAITING = 4096;

/**
 * Looks callers up on every request, because a revocation must act at once on every replica. All look-ups of one turn
 * of the event loop, keys and entries together, are batched into one statement.
 */
export function callerLookups(options: CallerLookupsOptions): CallerLookups {
  const { maxEntries = 2048, maxRunning = 2 } = options;
  let waitingEntries = 0;
  const limits = { maxBatch: MAX_AT_ONCE, maxRunning, maxWaiting: MAX_WAITING };
  const batcher = new TickBatcher<Asked, Outcome>((asked) => ask(options, asked), limits);
  return {
    find: (keyHash, entries, withinMs) =>
      new Promise((resolve, reject) => {
        const hasRoom = waitingEntries + entries.length <= maxEntries;
        const taken = hasRoom ? entries.length : 0;
        waitingEntries += taken;
        // The call itself continues after this deadline.
        const timer = setTimeout(() => reject(unavailable()), Math.max(0, withinMs));
        batcher.call({ keyHash, entries: hasRoom ? entries : [] }).then(
          (found) => {
            clearTimeout(timer);
            waitingEntries -= taken;
            if (found === 'unavailable') reject(unavailable());
            else if (found === undefined || hasRoom) resolve(found);
            else resolve({ ...found, found: entries.map((): LookedUp => 'overloaded') });
          },
          (error: unknown) => {
            clearTimeout(timer);
            waitingEntries -= taken;
            const isOfStore = error instanceof DatabaseUnavailableError;
            const isQueueFull = error instanceof AppError && error.code === 'OVERLOADED';
            reject(isOfStore || isQueueFull ? unavailable(error) : error);
          },
        );
      }),
  };
}

function unavailable(cause?: unknown): AppError {
  const [halted] = haltedIn(cause);
  const detail =
    halted === undefined ? 'The key store cannot be reached.' : `${new ChannelHaltedError(halted).reason}.`;
  return new AppError('UNAVAILABLE', detail, { retryAfterSeconds: 1, cause });
}

async function ask(options: CallerLookupsOptions, asked: readonly Asked[]): Promise<Outcome[]> {
  const { sql, seen, deadlineMs } = options;
  const batch = batchOf(options, asked);
  const mark = seen.mark();
  const [rows, losses] = await Promise.all([
    sql.query<LookupRow>(statementOf(options, batch), { deadlineMs }),
    batch.questions.some(({ entry }) => entry !== undefined) ? options.losses() : [],
  ]);
  // A standby may not have received a revocation yet, so it counts as unavailable.
  if (rows.some(({ is_standby: isStandby }) => isStandby !== false)) throw unavailable();
  const verified = verifyBatch(batch, rows, { options, mark, losses });
  const refusals = await askWitness(options.witness, verified.due, options.onCorrupt);
  return outcomesOf(asked, batch, verified, refusals);
}

/** A key of a batch, with what was known of it when the question was sent. */
interface AskedKey {
  readonly keyHash: Buffer;
  /** Position of the question whose row has its columns, from 0. */
  readonly place: number;
  readonly known: Known<KeyRow, SignedKey> | undefined;
  readonly venues: Map<string, AskedVenue>;
}

/** A venue that is asked about with a key. */
interface AskedVenue {
  readonly venueId: string;
  /** Like that of a key. */
  readonly place: number;
  /** Undefined where the key, and so its environment, is not known. */
  readonly question: VenueQuestion | undefined;
}

/** A key with at most one entry. */
interface Question {
  readonly key: AskedKey;
  readonly entry: { readonly subjectRef: string; readonly venue: AskedVenue } | undefined;
  /** Like that of a venue. */
  readonly subject: SubjectQuestion | undefined;
}

/** The version of a subject that was registered and then approved, which most subjects have. */
const USUAL_VERSION = 2;

type Batch = ReturnType<typeof batchOf>;

/** The questions of one statement. Those of a caller are consecutive, at least one for each. */
function batchOf(options: CallerLookupsOptions, asked: readonly Asked[]) {
  const keys = new Map<string, AskedKey>();
  const questions: Question[] = [];
  for (const { keyHash, entries } of asked) {
    const name = keyHash.toString('latin1');
    let key = keys.get(name);
    if (key === undefined) {
      key = { keyHash, place: questions.length, known: options.known.keys.get(name), venues: new Map() };
      keys.set(name, key);
    }
    if (entries.length === 0) questions.push({ key, entry: undefined, subject: undefined });
    for (const entry of entries) questions.push(questionOf(options, entry, { key, place: questions.length }));
  }
  return { keys: [...keys.values()], questions };
}

function questionOf(
  { known, seen, witness }: CallerLookupsOptions,
  { subjectRef, venueId }: EntryIds,
  { key, place }: { readonly key: AskedKey; readonly place: number },
): Question {
  // Known only of a known key.
  const environment = key.known?.row.owner_id;
  let venue = key.venues.get(venueId);
  if (venue === undefined) {
    const question = environment === undefined ? undefined : newVenue({ environment, venue_id: venueId });
    venue = { venueId, place, question: question && { ...question, known: known.venues.get(question.name) } };
    key.venues.set(venueId, venue);
  }
  const entry = { subjectRef, venue };
  if (environment === undefined) return { key, entry, subject: undefined };
  const parts = eligibilityName({ environment, subjectRef });
  const name = seenName(parts);
  const cached = known.subjects.get(name);
  if (cached !== undefined)
    return { key, entry, subject: { environment, subjectRef, name, known: cached, guess: undefined } };
  const expected = { name: parts, version: seen.highest(name) ?? USUAL_VERSION };
  const guess = { version: expected.version, ids: witness.idsOf(expected), nextIds: witness.nextIds(expected) };
  return { key, entry, subject: { environment, subjectRef, name, known: undefined, guess } };
}

/**
 * One row for each question whose key is live. Columns of a key and of a venue are set in the row of the first question
 * that names them, and null in all others.
 */
type LookupRow = KeyRow & SubjectRow & VenueRow & Told;

interface Told {
  /** Position of the question, from 1. */
  readonly ord: number;
  readonly is_standby: boolean;
  /** Those of the given ids that the ledger holds. */
  readonly held: readonly string[] | null;
  /** An id of a guessed version whose ledger record differs from the subject's row. */
  readonly conflict: string | null;
}

/**
 * See look_up in prisma/migrations/0001_gate.sql. Columns are named, so that a next version of the function may return
 * more of them: the prepared plan of a process that still runs would fail otherwise.
 */
const TEXT = `SELECT ord, is_standby, held, conflict, ${LOOKED_UP.join(', ')} FROM gate.look_up($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

function statementOf({ witness, now }: CallerLookupsOptions, { keys, questions }: Batch): Statement {
  /** Ledger ids of the versions after those known or guessed. */
  const laterIds: string[] = [];
  for (const { known, venues } of keys) {
    if (known !== undefined) laterIds.push(...known.nextIds);
    for (const { question } of venues.values())
      if (question?.known !== undefined) laterIds.push(...question.known.nextIds);
  }
  const environments: string[] = [];
  const subjects: string[] = [];
  const versions: number[] = [];
  const ids: string[] = [];
  for (const { subject } of questions) {
    if (subject === undefined) continue;
    const { known, guess, environment, subjectRef } = subject;
    laterIds.push(...((known ?? guess)?.nextIds ?? []));
    if (guess === undefined) continue;
    for (const id of guess.ids) {
      environments.push(environment);
      subjects.push(subjectRef);
      versions.push(guess.version);
      ids.push(id);
    }
  }
  const values = [
    byteaArray(questions.map(({ key }) => key.keyHash)),
    questions.map(({ key }, place) => key.place === place),
    textArray(questions.map(({ entry }) => entry?.subjectRef ?? null)),
    textArray(questions.map(({ entry }, place) => (entry?.venue.place === place ? entry.venue.venueId : null))),
    new Date(now()),
    witness.channel,
    textArray(laterIds),
    textArray(environments),
    textArray(subjects),
    int8Array(versions),
    textArray(ids),
  ];
  return { name: 'gate callers', text: TEXT, values };
}

/** Verifies the rows of an answer. Returns by question, and in `due` the rows that the ledger must be asked about. */
function verifyBatch(
  batch: Batch,
  rows: readonly LookupRow[],
  { options, ...asOf }: { options: CallerLookupsOptions } & Pick<VerifyContext, 'mark' | 'losses'>,
) {
  const { macs, seen, known, onCorrupt } = options;
  const context = { macs, seen, known, ...asOf, ...ledgerSays(rows) };
  const rowAt: (LookupRow | undefined)[] = [];
  for (const row of rows) rowAt[row.ord - 1] = row;
  const keys = new Map<AskedKey, VerifiedKey>();
  const venues = new Map<AskedVenue, ReturnType<typeof verifiedVenue>>();
  const due: PendingCheck[] = [];
  for (const asked of batch.keys) {
    const row = rowAt[asked.place];
    if (row === undefined) continue;
    const key = verifiedKey(row, asked.known, context);
    if (key === 'corrupt') {
      onCorrupt(`key ${row.id}`);
      continue;
    }
    keys.set(asked, key);
    if (key.pendingCheck !== undefined) due.push(key.pendingCheck);
    for (const venue of asked.venues.values()) {
      const venueRow = rowAt[venue.place];
      const question = key.isKnown
        ? venue.question!
        : newVenue({ environment: key.environment, venue_id: venue.venueId });
      const verified = venueRow === undefined ? 'corrupt' : verifiedVenue(venueRow, question, context);
      if (venueRow !== undefined && verified === 'corrupt') onCorrupt(`venue ${venue.venueId}`);
      else if (typeof verified === 'object' && verified.pendingCheck !== undefined) due.push(verified.pendingCheck);
      venues.set(venue, verified);
    }
  }
  const records = batch.questions.map(({ key: of, entry, subject }, place): ReturnType<typeof verifiedRecord> => {
    const key = keys.get(of);
    if (key === undefined || entry === undefined) return undefined;
    const row = rowAt[place];
    if (row === undefined) return 'corrupt';
    // The key may belong to another environment than when it was known.
    const question = key.isKnown
      ? subject!
      : newSubject({ environment: key.environment, subjectRef: entry.subjectRef });
    const verified = verifiedRecord(row, question, context);
    // Logs the id, because an operator must find the row.
    if (verified === 'corrupt') onCorrupt(`subject ${entry.subjectRef}`);
    else if (verified?.pendingCheck !== undefined) due.push(verified.pendingCheck);
    return verified;
  });
  return { keys, venues, records, due };
}

/** What the ledger said in the same answer. */
function ledgerSays(rows: readonly LookupRow[]): Pick<VerifyContext, 'isOutdated' | 'ledgerAgrees'> {
  const held = new Set(rows[0]?.held ?? []);
  const hasConflict = (rows[0]?.conflict ?? null) !== null;
  const isOutdated = ({ nextIds }: { nextIds: readonly string[] }) =>
    held.size > 0 && nextIds.some((id) => held.has(id));
  // A conflict does not say which record it belongs to, so each is then asked about separately.
  return { isOutdated, ledgerAgrees: (guess) => !hasConflict && !isOutdated(guess) };
}

function outcomesOf(
  asked: readonly Asked[],
  { questions }: Batch,
  { keys, venues, records }: ReturnType<typeof verifyBatch>,
  refusals: ReadonlyMap<PendingCheck, Refusal>,
): Outcome[] {
  const refusalOf = (pendingCheck: PendingCheck | undefined) => pendingCheck && refusals.get(pendingCheck);
  let first = 0;
  return asked.map(({ entries }) => {
    const start = first;
    first += Math.max(1, entries.length);
    const key = keys.get(questions[start]!.key);
    const refusal = refusalOf(key?.pendingCheck);
    if (key === undefined || refusal !== undefined) return refusal === 'unavailable' ? refusal : undefined;
    const found = entries.map((_, at): LookedUp => {
      const { entry } = questions[start + at]!;
      return factsOf(records[start + at], entry && venues.get(entry.venue), refusalOf);
    });
    const { keyId, familyId, environment, scopes } = key;
    return { keyId, familyId, environment, scopes, found };
  });
}

/**
 * Touches every table and function that a check reads, including the ledger's, without reading a row. So whatever
 * blocks checks (no free connection, a lock, a standby in place of the primary) blocks this too. Never prepared: for a
 * cached plan PostgreSQL locks only the tables that the plan still reads.
 */
const READINESS_TEXT = `SELECT pg_is_in_recovery() AS is_standby, EXISTS
    (SELECT FROM gate.api_keys, gate.eligibility, gate.eligibility_history, gate.venues WHERE false) AS is_there,
    ledger.held('', '{}') AS held, (SELECT count(*) FROM ledger.epochs('{}')) AS epochs`;

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
