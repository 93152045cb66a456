import { liveKeyCondition, TickBatcher } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { haltedIn } from '@sealgate/ledger-embedded';
import { ChannelHaltedError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, textArray, type Sql } from '@sealgate/storage';
import { eligibilityName } from '../domain/change-eligibility.ts';
import type { LookedUp } from '../domain/check-entry.ts';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import type { EntryIds, GateCaller } from '../domain/gate-caller.ts';
import { keyName, keyVersion, type KeyGrants } from '../domain/key-grants.ts';
import { venueName } from '../domain/venue-record.ts';
import { seenName } from '../domain/versioned-record.ts';
import {
  factsOf,
  NOTHING_FOUND,
  refused,
  type FactMacs,
  type FactOptions,
  type FactRow,
  type KnownThen,
  type Unasked,
} from './entry-facts.ts';
import type { Known, KnownRows } from './known-rows.ts';
import type { LedgerWitness } from './ledger-witness.ts';
import type { SeenVersions } from './seen-versions.ts';
import { isSameKey, keyStateOf, keyVerifier, type KeyRow, type KeyVerifier } from './verified-keys.ts';

export type FoundCaller = Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes' | 'found'>;

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
  readonly macs: FactMacs & { readonly keys: KeyedHasher };
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

interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

interface Row extends FactRow, KeyRow {
  /** From 1. */
  readonly ord: string;
  readonly is_standby: boolean;
  /** Of the ids that were sent, those that the ledger holds. */
  readonly held: readonly string[] | null;
}

// held_v2 reads through the snapshot of this statement: a row and what the ledger says of it are of one moment.
const TEXT = `SELECT q.ord, pg_is_in_recovery() AS is_standby, (SELECT ledger.held_v2($5, $6)) AS held,
    k.key_hash, k.id, k.owner_id, k.family_id, k.label, k.key_prefix, k.grants::text AS grants, k.created_at, k.expires_at,
    k.overlap_until, k.replaces, q.subject_ref, e.record_version, e.status, e.document, e.changed_at, e.mac,
    (SELECT max(h.record_version) FROM gate.eligibility_history h
      WHERE h.environment = k.owner_id AND h.subject_ref = q.subject_ref) AS newest_version,
    q.venue_id, v.name AS venue_name, v.active AS venue_active, v.record_version AS venue_version,
    v.created_at AS venue_created_at, v.updated_at AS venue_updated_at, v.mac AS venue_mac
  FROM unnest($1::bytea[], $2::text[], $3::text[]) WITH ORDINALITY q (key_hash, subject_ref, venue_id, ord)
  JOIN gate.api_keys k ON k.key_hash = q.key_hash AND ${liveKeyCondition('k', '$4')}
  LEFT JOIN gate.eligibility e ON e.environment = k.owner_id AND e.subject_ref = q.subject_ref
  LEFT JOIN gate.venues v ON v.environment = k.owner_id AND v.venue_id = q.venue_id`;

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

/** One key with one entry or none, and what was known of all three when it was asked. */
interface Question extends KnownThen {
  readonly keyHash: Buffer;
  readonly entry: EntryIds | undefined;
  readonly key: Known<KeyRow, KeyGrants> | undefined;
}

async function ask(options: CallerLookupsOptions, asked: readonly Asked[]): Promise<Outcome[]> {
  const { sql, macs, seen, now, deadlineMs, known, witness, onCorrupt } = options;
  const questions = asked.flatMap(({ keyHash, entries }) => questionsOf(known, keyHash, entries));
  const values = [
    questions.map(({ keyHash }) => keyHash),
    questions.map(({ entry }) => entry?.subjectRef ?? null),
    questions.map(({ entry }) => entry?.venueId ?? null),
    new Date(now()),
    witness.channel,
    textArray(laterIdsOf(questions)),
  ];
  const mark = seen.mark();
  const [rows, losses] = await Promise.all([
    sql.query<Row>({ name: 'gate callers', text: TEXT, values }, { deadlineMs }),
    questions.some(({ entry }) => entry !== undefined) ? options.losses() : [],
  ]);
  // A standby may not have heard of a revocation yet, so it is as good as away.
  if (rows.some(({ is_standby: isStandby }) => isStandby !== false)) throw unavailable();
  const held = new Set(rows[0]?.held ?? []);
  const isOutdated: FactOptions['isOutdated'] = ({ nextIds }) => held.size > 0 && nextIds.some((id) => held.has(id));
  const facts: FactOptions = { macs, seen, known, onCorrupt, mark, isOutdated, losses };
  const byPlace = new Map(rows.map((row) => [Number(row.ord), row]));
  const verify = keyVerifier(macs.keys, (id) => onCorrupt(`key ${id}`));
  const due: Due[] = [];
  const answered = { facts, verify, due };
  let place = 0;
  const outcomes = asked.map(({ entries }): { caller: Outcome } => {
    const count = Math.max(1, entries.length);
    const own = Array.from({ length: count }, (_, offset) => ({
      question: questions[place + offset]!,
      row: byPlace.get(place + offset + 1),
    }));
    place += count;
    return outcomeOf(answered, own);
  });
  await hearWitness(options, due);
  return outcomes.map(({ caller }) => caller);
}

function questionsOf(known: KnownRows, keyHash: Buffer, entries: readonly EntryIds[]): Question[] {
  const key = known.keys.get(keyHash.toString('latin1'));
  const none = { keyHash, key, entry: undefined, subject: undefined, venue: undefined };
  if (entries.length === 0) return [none];
  return entries.map((entry) => {
    if (key === undefined) return { ...none, entry };
    // Whose environment it is, is known of the key.
    const { owner_id: environment } = key.row;
    const subject = known.subjects.get(seenName(eligibilityName({ environment, subjectRef: entry.subjectRef })));
    const venue = known.venues.get(seenName(venueName({ environment, venueId: entry.venueId })));
    return { keyHash, key, entry, subject, venue };
  });
}

/** The ids under which the ledger would hold a version after one that is known. */
function laterIdsOf(questions: readonly Question[]): string[] {
  const known = new Set<Known<unknown, unknown>>();
  for (const { key, subject, venue } of questions) {
    if (key !== undefined) known.add(key);
    if (subject !== undefined) known.add(subject);
    if (venue !== undefined) known.add(venue);
  }
  const ids: string[] = [];
  for (const { nextIds } of known) ids.push(...nextIds);
  return ids;
}

interface Answered {
  readonly facts: FactOptions;
  readonly verify: KeyVerifier;
  /** Filled with what the ledger is to be asked about. */
  readonly due: Due[];
}

/** What was believed as far as the tables say, and what to do where the ledger says no, or nothing. */
interface Due extends Unasked {
  readonly refuse: (why: Parameters<typeof refused>[1]) => void;
}

function outcomeOf(
  answered: Answered,
  asked: readonly { readonly question: Question; readonly row: Row | undefined }[],
): { caller: Outcome } {
  const { due } = answered;
  const [{ question, row: first } = { question: undefined, row: undefined }] = asked;
  if (question === undefined || first === undefined) return { caller: undefined };
  const key = believedKey(answered, first, question.key);
  if (key === undefined) return { caller: undefined };
  const found: LookedUp[] = [];
  for (const [index, each] of (question.entry === undefined ? [] : asked).entries()) {
    const { facts, unasked } =
      each.row === undefined ? NOTHING_FOUND : factsOf(each.row, each.question, answered.facts);
    found.push(facts);
    for (const one of unasked) {
      const refuse: Due['refuse'] = (why) => (found[index] = refused(found[index], why));
      due.push({ ...one, refuse });
    }
  }
  const { id: keyId, family_id: familyId, owner_id: environment } = first;
  const outcome: { caller: Outcome } = { caller: { keyId, familyId, environment, scopes: key.grants.scopes, found } };
  if (key.unasked !== undefined) {
    const refuse: Due['refuse'] = (why) => (outcome.caller = why === 'unavailable' ? why : undefined);
    due.push({ ...key.unasked, refuse });
  }
  return outcome;
}

/** The grants of a key that is as it was written, and not older than what was seen or what the ledger holds. */
function believedKey(
  { facts: { seen, known, onCorrupt, mark, isOutdated }, verify }: Answered,
  row: Row,
  asked: Known<KeyRow, KeyGrants> | undefined,
): { readonly grants: KeyGrants; readonly unasked?: Unasked } | undefined {
  const name = seenName(keyName(row.id));
  const isKnown = asked !== undefined && isSameKey(asked.row, row);
  const grants = isKnown ? asked.value : verify(row);
  if (grants === undefined) return undefined;
  const { version = 0 } = grants;
  if (isKnown && isOutdated(asked)) {
    known.keys.delete(row.key_hash.toString('latin1'));
    seen.see(name, version + 1);
    onCorrupt(`key ${row.id}`);
    return undefined;
  }
  if (version < seen.highestBefore(mark, name)) {
    onCorrupt(`key ${row.id}`);
    return undefined;
  }
  if (isKnown) return { grants };
  seen.see(name, version);
  const remember = (nextIds: readonly string[]) =>
    known.keys.set(row.key_hash.toString('latin1'), { row, value: grants, nextIds });
  return { grants, unasked: { record: keyVersion(keyStateOf(row), grants), remember } };
}

/** What the ledger contradicts is not believed; where the ledger does not answer nothing is known. */
async function hearWitness({ witness, onCorrupt }: CallerLookupsOptions, due: readonly Due[]): Promise<void> {
  if (due.length === 0) return;
  try {
    const [contradicted, missing] = await Promise.all([
      witness.contradicted(due.map(({ record }) => record)),
      witness.missing(due.filter(({ mustBeHeld }) => mustBeHeld === true).map(({ record }) => record)),
    ]);
    for (const { record, remember, refuse } of due) {
      if (contradicted.has(record)) {
        onCorrupt(seenName(record.name));
        refuse('contradicted');
      } else if (missing.has(record)) refuse('missing');
      else remember(witness.nextIds(record));
    }
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    for (const { refuse } of due) refuse('unavailable');
  }
}

/** The call goes on where it is; whoever asked is told that it took too long. */
function withinTime<Value>(call: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable()), Math.max(0, ms));
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
