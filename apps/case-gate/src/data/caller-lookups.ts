import { TickBatcher } from '@sealgate/api-keys';
import { AppError } from '@sealgate/errors';
import { haltedIn } from '@sealgate/ledger-embedded';
import { ChannelHaltedError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { LookedUp } from '../domain/check-entry.ts';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import type { EntryIds, GateCaller } from '../domain/gate-caller.ts';
import { seenName, type VenueRecord } from '../domain/versioned-record.ts';
import {
  believedRecord,
  believedVenue,
  factsOf,
  type Believed,
  type BelievedRecord,
  type FactMacs,
  type FactOptions,
  type Refusal,
  type Unasked,
} from './entry-facts.ts';
import type { KnownRows } from './known-rows.ts';
import type { LedgerWitness } from './ledger-witness.ts';
import {
  batchOf,
  statementOf,
  type Asked,
  type AskedKey,
  type AskedVenue,
  type Batch,
  type LookupRow,
} from './lookup-batch.ts';
import type { SeenVersions } from './seen-versions.ts';
import { believedKey, type BelievedKey } from './verified-keys.ts';

/** A live key, and what was found for each entry that was asked about, in that order. */
export interface FoundCaller extends Omit<GateCaller, 'bucket'> {
  readonly found: readonly LookedUp[];
}

export interface CallerLookups {
  /**
   * The live key with this hash, and what is known of the entries, in one round trip, and one to the ledger for what this
   * process meets for the first time; undefined when there is no such key. Settles within `withinMs`.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key".
   */
  find(keyHash: Buffer, entries: readonly EntryIds[], withinMs: number): Promise<FoundCaller | undefined>;
}

export interface CallerLookupsOptions {
  /** The primary, and nothing else: a replica of it may be behind. */
  readonly sql: Sql;
  readonly macs: FactMacs;
  readonly seen: SeenVersions;
  /** What was found authentic and the newest before. */
  readonly known: KnownRows;
  /** Asked about every key, and every record and venue that would let somebody in, that is not among those. */
  readonly witness: LedgerWitness;
  /** Losses of ledger records that were declared; see `LossWatch.current`. */
  readonly losses: () => Promise<readonly DeclaredLoss[]>;
  readonly now: () => number;
  /** Of one query. */
  readonly deadlineMs: number;
  /** Told of a row that is not what was written. */
  readonly onCorrupt: (what: string) => void;
  /** Entries that may wait; past it keys alone are looked up. */
  readonly mostEntries?: number;
}

/** 'unavailable': the ledger had to be asked about the key, and gave no answer. */
type Outcome = FoundCaller | 'unavailable' | undefined;

const MOST_AT_ONCE = 128;
const MOST_WAITING = 4096;

/**
 * Looks callers up on every request, because a revocation acts at once on every replica. All look-ups of one turn of the
 * event loop, keys and entries together, are one statement.
 */
export function callerLookups(options: CallerLookupsOptions): CallerLookups {
  const { mostEntries = 2048 } = options;
  let waitingEntries = 0;
  const batcher = new TickBatcher<Asked, Outcome>((asked) => ask(options, asked), {
    maxBatch: MOST_AT_ONCE,
    maxRunning: 2,
    maxWaiting: MOST_WAITING,
  });
  return {
    async find(keyHash, entries, withinMs) {
      const hasRoom = waitingEntries + entries.length <= mostEntries;
      const taken = hasRoom ? entries.length : 0;
      waitingEntries += taken;
      const call = batcher.call({ keyHash, entries: hasRoom ? entries : [] }).finally(() => (waitingEntries -= taken));
      try {
        const found = await withinTime(call, withinMs);
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
  // A standby may not have heard of a revocation yet, so it is as good as away.
  if (rows.some(({ is_standby: isStandby }) => isStandby !== false)) throw unavailable();
  const judged = judge(batch, rows, factOptions(options, rows, { mark, losses }));
  const refusals = await hearWitness(options, judged.due);
  return outcomesOf(asked, { ...batch, ...judged }, (unasked) => unasked && refusals.get(unasked));
}

function factOptions(
  { macs, seen, known, onCorrupt }: CallerLookupsOptions,
  rows: readonly LookupRow[],
  then: Pick<FactOptions, 'mark' | 'losses'>,
): FactOptions {
  const held = new Set(rows[0]?.held ?? []);
  const hasConflict = (rows[0]?.conflict ?? null) !== null;
  const isHeld = (ids: readonly string[]) => held.size > 0 && ids.some((id) => held.has(id));
  return {
    ...{ macs, seen, known, onCorrupt, ...then },
    isOutdated: ({ nextIds }) => isHeld(nextIds),
    // Which of them a conflict is of is asked anew, about each.
    isHeardOf: ({ nextIds }) => !hasConflict && !isHeld(nextIds),
  };
}

/** What was made of a batch, as far as the tables say. */
interface Judged {
  /** Keys that open something. */
  readonly keys: ReadonlyMap<AskedKey, BelievedKey>;
  readonly venues: ReadonlyMap<AskedVenue, Believed<VenueRecord>>;
  /** By the place of the question. */
  readonly records: readonly Believed<BelievedRecord>[];
  /** What the ledger is to be asked about. */
  readonly due: readonly Unasked[];
}

function judge({ keys: asked, questions }: Batch, rows: readonly LookupRow[], options: FactOptions): Judged {
  const byPlace = new Map(rows.map((row) => [row.ord - 1, row]));
  const keys = new Map<AskedKey, BelievedKey>();
  const venues = new Map<AskedVenue, Believed<VenueRecord>>();
  const due: Unasked[] = [];
  const noted = <Value>(believed: Believed<Value>): Believed<Value> => {
    if (typeof believed === 'object' && believed.unasked !== undefined) due.push(believed.unasked);
    return believed;
  };
  for (const each of asked) {
    const row = byPlace.get(each.place);
    const key = row && believedKey(row, each.known, options);
    if (key === undefined) continue;
    keys.set(each, key);
    if (key.unasked !== undefined) due.push(key.unasked);
    for (const venue of each.venues.values()) {
      const said = byPlace.get(venue.place);
      venues.set(
        venue,
        said === undefined ? 'corrupt' : noted(believedVenue(said, inEnvironment(venue, key), options)),
      );
    }
  }
  const records = questions.map(({ key: of, entry, subject: known, guess }, place): Believed<BelievedRecord> => {
    const [key, row] = [keys.get(of), byPlace.get(place)];
    if (key === undefined || entry === undefined) return undefined;
    if (row === undefined) return 'corrupt';
    const question = inEnvironment({ subjectRef: entry.subjectRef, known, guess }, key);
    return noted(believedRecord(row, question, options));
  });
  return { keys, venues, records, due };
}

/** What was known or guessed in the environment that the key had then says nothing of another. */
function inEnvironment<Of extends { readonly known: unknown }>(of: Of, { environment, isKnown }: BelievedKey) {
  return { ...of, environment, ...(isKnown ? {} : { known: undefined, guess: undefined }) };
}

function outcomesOf(
  asked: readonly Asked[],
  { questions, keys, venues, records }: Judged & Pick<Batch, 'questions'>,
  refusalOf: (unasked: Unasked | undefined) => Refusal | undefined,
): Outcome[] {
  let first = 0;
  return asked.map(({ entries }) => {
    const start = first;
    first += Math.max(1, entries.length);
    const key = keys.get(questions[start]!.key);
    const refusal = refusalOf(key?.unasked);
    if (key === undefined || refusal !== undefined) return refusal === 'unavailable' ? refusal : undefined;
    const found = entries.map((_, at): LookedUp => {
      const { entry } = questions[start + at]!;
      return factsOf(records[start + at], entry && venues.get(entry.venue), refusalOf);
    });
    const { keyId, familyId, environment, scopes } = key;
    return { keyId, familyId, environment, scopes, found };
  });
}

/** What the ledger has against any of these; where it does not answer nothing is known. What it has nothing against is remembered. */
async function hearWitness(
  { witness, onCorrupt }: CallerLookupsOptions,
  due: readonly Unasked[],
): Promise<ReadonlyMap<Unasked, Refusal>> {
  const refusals = new Map<Unasked, Refusal>();
  if (due.length === 0) return refusals;
  try {
    const [contradicted, missing] = await Promise.all([
      witness.contradicted(due.map(({ record }) => record)),
      witness.missing(due.filter(({ mustBeHeld }) => mustBeHeld === true).map(({ record }) => record)),
    ]);
    for (const unasked of due) {
      const { record, remember } = unasked;
      if (contradicted.has(record)) {
        onCorrupt(seenName(record.name));
        refusals.set(unasked, 'contradicted');
      } else if (missing.has(record)) refusals.set(unasked, 'missing');
      else remember(witness.nextIds(record));
    }
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    for (const unasked of due) refusals.set(unasked, 'unavailable');
  }
  return refusals;
}

/** The call goes on where it is; whoever asked is told that it took too long. */
function withinTime<Value>(call: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable()), Math.max(0, ms));
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
