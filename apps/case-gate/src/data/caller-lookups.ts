import { TickBatcher } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { haltedIn } from '@sealgate/ledger-embedded';
import { ChannelHaltedError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { LookedUp, EntryIds } from '../domain/check-entry.ts';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import type { GateCaller } from '../domain/key-grants.ts';
import { seenName, type VenueRecord } from '../domain/versioned-record.ts';
import {
  verifiedRecord,
  verifiedVenue,
  factsOf,
  type Verified,
  type VerifiedRecord,
  type FactMacs,
  type FactOptions,
  type Refusal,
  type PendingCheck,
} from './entry-facts.ts';
import type { KnownRows, SeenVersions } from './known-rows.ts';
import type { LedgerWitness } from './ledger-versions.ts';
import {
  batchOf,
  statementOf,
  type Asked,
  type AskedKey,
  type AskedVenue,
  type Batch,
  type LookupRow,
} from './lookup-batch.ts';
import { verifiedKey, type VerifiedKey } from './verified-keys.ts';

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

export interface CallerLookupsOptions {
  /** The primary only: a replica may lag. */
  readonly sql: Sql;
  readonly macs: FactMacs;
  readonly seen: SeenVersions;
  /** Rows found authentic and newest before. */
  readonly known: KnownRows;
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
  const { maxEntries = 2048 } = options;
  let waitingEntries = 0;
  const batcher = new TickBatcher<Asked, Outcome>((asked) => ask(options, asked), {
    maxBatch: MAX_AT_ONCE,
    maxRunning: 2,
    maxWaiting: MAX_WAITING,
  });
  return {
    async find(keyHash, entries, withinMs) {
      const hasRoom = waitingEntries + entries.length <= maxEntries;
      const taken = hasRoom ? entries.length : 0;
      waitingEntries += taken;
      const call = batcher.call({ keyHash, entries: hasRoom ? entries : [] }).finally(() => (waitingEntries -= taken));
      try {
        const found = await withTimeout(call, withinMs);
        if (found === 'unavailable') throw unavailable();
        if (found === undefined || hasRoom) return found;
        return { ...found, found: entries.map((): LookedUp => 'overloaded') };
      } catch (error) {
        const isOurs = error instanceof AppError && error.code !== 'OVERLOADED';
        if (isOurs || !(error instanceof AppError || error instanceof DatabaseUnavailableError)) throw error;
        throw unavailable(error);
      }
    },
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
  const checked = verifyBatch(batch, rows, factOptions(options, rows, { mark, losses }));
  const refusals = await askWitness(options, checked.due);
  return outcomesOf(asked, { ...batch, ...checked }, (pendingCheck) => pendingCheck && refusals.get(pendingCheck));
}

function factOptions(
  { macs, seen, known, onCorrupt }: CallerLookupsOptions,
  rows: readonly LookupRow[],
  asOf: Pick<FactOptions, 'mark' | 'losses'>,
): FactOptions {
  const held = new Set(rows[0]?.held ?? []);
  const hasConflict = (rows[0]?.conflict ?? null) !== null;
  const isHeld = (ids: readonly string[]) => held.size > 0 && ids.some((id) => held.has(id));
  return {
    ...{ macs, seen, known, onCorrupt, ...asOf },
    isOutdated: ({ nextIds }) => isHeld(nextIds),
    // A conflict does not say which record it belongs to, so each is then asked about separately.
    ledgerAgrees: ({ nextIds }) => !hasConflict && !isHeld(nextIds),
  };
}

/** The result of checking a batch against its rows, before the ledger was asked. */
interface VerifiedBatch {
  /** Verified keys. */
  readonly keys: ReadonlyMap<AskedKey, VerifiedKey>;
  readonly venues: ReadonlyMap<AskedVenue, Verified<VenueRecord>>;
  /** By position of the question. */
  readonly records: readonly Verified<VerifiedRecord>[];
  /** Rows that the ledger must be asked about. */
  readonly due: readonly PendingCheck[];
}

function verifyBatch(
  { keys: asked, questions }: Batch,
  rows: readonly LookupRow[],
  options: FactOptions,
): VerifiedBatch {
  const byPlace = new Map(rows.map((row) => [row.ord - 1, row]));
  const keys = new Map<AskedKey, VerifiedKey>();
  const venues = new Map<AskedVenue, Verified<VenueRecord>>();
  const due: PendingCheck[] = [];
  const noted = <Value>(verified: Verified<Value>): Verified<Value> => {
    if (typeof verified === 'object' && verified.pendingCheck !== undefined) due.push(verified.pendingCheck);
    return verified;
  };
  for (const each of asked) {
    const row = byPlace.get(each.place);
    const key = row && verifiedKey(row, each.known, options);
    if (key === undefined) continue;
    keys.set(each, key);
    if (key.pendingCheck !== undefined) due.push(key.pendingCheck);
    for (const venue of each.venues.values()) {
      const venueRow = byPlace.get(venue.place);
      venues.set(
        venue,
        venueRow === undefined ? 'corrupt' : noted(verifiedVenue(venueRow, inEnvironment(venue, key), options)),
      );
    }
  }
  const records = questions.map(({ key: of, entry, subject: known, guess }, place): Verified<VerifiedRecord> => {
    const [key, row] = [keys.get(of), byPlace.get(place)];
    if (key === undefined || entry === undefined) return undefined;
    if (row === undefined) return 'corrupt';
    const question = inEnvironment({ subjectRef: entry.subjectRef, known, guess }, key);
    return noted(verifiedRecord(row, question, options));
  });
  return { keys, venues, records, due };
}

/** Drops what was known or guessed if the key has changed: it may belong to another environment now. */
function inEnvironment<Of extends { readonly known: unknown }>(of: Of, { environment, isKnown }: VerifiedKey) {
  return { ...of, environment, ...(isKnown ? {} : { known: undefined, guess: undefined }) };
}

function outcomesOf(
  asked: readonly Asked[],
  { questions, keys, venues, records }: VerifiedBatch & Pick<Batch, 'questions'>,
  refusalOf: (pendingCheck: PendingCheck | undefined) => Refusal | undefined,
): Outcome[] {
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

/** Asks the ledger about these rows. Returns those it refuses, all if it does not answer; remembers the others. */
async function askWitness(
  { witness, onCorrupt }: CallerLookupsOptions,
  due: readonly PendingCheck[],
): Promise<ReadonlyMap<PendingCheck, Refusal>> {
  const refusals = new Map<PendingCheck, Refusal>();
  if (due.length === 0) return refusals;
  try {
    const [contradicted, missing] = await Promise.all([
      witness.contradicted(due.map(({ record }) => record)),
      witness.missing(due.filter(({ mustBeHeld }) => mustBeHeld === true).map(({ record }) => record)),
    ]);
    for (const pendingCheck of due) {
      const { record, remember } = pendingCheck;
      if (contradicted.has(record)) {
        onCorrupt(seenName(record.name));
        refusals.set(pendingCheck, 'contradicted');
      } else if (missing.has(record)) refusals.set(pendingCheck, 'missing');
      else remember(witness.nextIds(record));
    }
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    for (const pendingCheck of due) refusals.set(pendingCheck, 'unavailable');
  }
  return refusals;
}

/** Rejects after `ms`. The call itself continues. */
function withTimeout<Value>(call: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable()), Math.max(0, ms));
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
