import { liveKeyCondition, TickBatcher } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { LookedUp } from '../domain/check-entry.ts';
import type { EntryIds, GateCaller } from '../domain/gate-caller.ts';
import { factsOf, type FactMacs, type FactRow } from './entry-facts.ts';
import { storedStatus } from '../domain/eligibility-record.ts';
import type { LedgerWitness, Testimony } from './ledger-witness.ts';
import type { SeenVersions } from './seen-versions.ts';
import { keyVerifier, type KeyRow, type KeyVerifier } from './verified-keys.ts';

export type FoundCaller = Pick<GateCaller, 'keyId' | 'familyId' | 'environment' | 'scopes' | 'found'>;

export interface CallerLookups {
  /**
   * The live key with this hash, and what is known of the entries, in one round trip; undefined when there is no such
   * key. Settles within `withinMs`.
   * @throws AppError UNAVAILABLE when the database gives no answer: that is never "no such key".
   */
  find(keyHash: Buffer, entries: readonly EntryIds[], withinMs: number): Promise<FoundCaller | undefined>;
}

export interface CallerLookupsOptions {
  /** The primary, and nothing else: a replica of it may be behind. */
  readonly sql: Sql;
  readonly macs: FactMacs & { readonly keys: KeyedHasher };
  readonly seen: SeenVersions;
  /** Asked about every record that would let somebody in. */
  readonly witness: LedgerWitness;
  readonly now: () => number;
  /** Of one query. */
  readonly deadlineMs: number;
  /** Told of a row that is not what was written. */
  readonly onCorrupt: (what: string) => void;
  /** Entries that may wait; past it keys alone are looked up. */
  readonly mostEntries?: number;
}

interface Asked {
  readonly keyHash: Buffer;
  readonly entries: readonly EntryIds[];
}

interface Row extends FactRow, KeyRow {
  /** From 1. */
  readonly ord: string;
  readonly is_standby: boolean;
}

const TEXT = `SELECT q.ord, pg_is_in_recovery() AS is_standby,
    k.key_hash, k.id, k.owner_id, k.family_id, k.label, k.key_prefix, k.grants::text AS grants, k.created_at, k.expires_at, k.replaces,
    q.subject_ref, e.record_version, e.status, e.document, e.changed_at, e.mac,
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
  const batcher = new TickBatcher<Asked, FoundCaller | undefined>((asked) => ask(options, asked), {
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
  return new AppError('UNAVAILABLE', 'The key store cannot be reached.', { retryAfterSeconds: 1, cause });
}

async function ask(options: CallerLookupsOptions, asked: readonly Asked[]): Promise<(FoundCaller | undefined)[]> {
  const { sql, seen, now, deadlineMs } = options;
  const questions = asked.flatMap(({ keyHash, entries }): { keyHash: Buffer; entry: EntryIds | undefined }[] =>
    entries.length === 0 ? [{ keyHash, entry: undefined }] : entries.map((entry) => ({ keyHash, entry })),
  );
  const values = [
    questions.map(({ keyHash }) => keyHash),
    questions.map(({ entry }) => entry?.subjectRef ?? null),
    questions.map(({ entry }) => entry?.venueId ?? null),
    new Date(now()),
  ];
  const mark = seen.mark();
  const rows = await sql.query<Row>({ name: 'gate callers', text: TEXT, values }, { deadlineMs });
  // A standby may not have heard of a revocation yet, so it is as good as away.
  if (rows.some(({ is_standby: isStandby }) => isStandby !== false)) throw unavailable();
  const byPlace = new Map(rows.map((row) => [Number(row.ord), row]));
  const verify = keyVerifier(options.macs.keys, (id) => options.onCorrupt(`key ${id}`));
  const doors: OpenDoor[] = [];
  let place = 0;
  const callers = asked.map(({ entries }) => {
    const count = Math.max(1, entries.length);
    const own = Array.from({ length: count }, (_, offset) => byPlace.get(place + offset + 1));
    place += count;
    return callerOf(options, { rows: own, hasEntries: entries.length > 0, mark, verify, doors });
  });
  await hearWitness(options.witness, doors);
  return callers;
}

interface Answered {
  readonly rows: readonly (Row | undefined)[];
  readonly hasEntries: boolean;
  readonly mark: number;
  readonly verify: KeyVerifier;
  /** Filled with what the ledger is to be asked about. */
  readonly doors: OpenDoor[];
}

/** Where an entry stands that would let somebody in as far as the database says. */
interface OpenDoor {
  readonly found: LookedUp[];
  readonly index: number;
  readonly testimony: Testimony;
}

function callerOf(
  options: CallerLookupsOptions,
  { rows, hasEntries, mark, verify, doors }: Answered,
): FoundCaller | undefined {
  const [first] = rows;
  const scopes = first && verify(first);
  if (first === undefined || scopes === undefined) return undefined;
  const found: LookedUp[] = [];
  for (const [index, row] of (hasEntries ? rows : []).entries()) {
    const facts = row === undefined ? NOTHING_KNOWN : factsOf(row, { ...options, mark });
    found.push(facts);
    const testimony = row && testimonyOf(row, facts);
    if (testimony !== undefined) doors.push({ found, index, testimony });
  }
  return { keyId: first.id, familyId: first.family_id, environment: first.owner_id, scopes, found };
}

/** Undefined for what lets nobody in, whatever the ledger says. */
function testimonyOf({ document }: Row, facts: LookedUp): Testimony | undefined {
  if (typeof facts !== 'object' || !facts.isIntact || facts.record === undefined || document === null) return undefined;
  if (storedStatus(facts.record) !== 'eligible') return undefined;
  const { environment, subject_ref: subjectRef, record_version: version } = facts.record;
  return { environment, subjectRef, version, document };
}

/** A record that the ledger contradicts is not believed; where the ledger does not answer nothing is known. */
async function hearWitness(witness: LedgerWitness, doors: readonly OpenDoor[]): Promise<void> {
  if (doors.length === 0) return;
  try {
    const contradicted = await witness.contradicted(doors.map(({ testimony }) => testimony));
    for (const { found, index, testimony } of doors) if (contradicted.has(testimony)) found[index] = NOTHING_KNOWN;
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    for (const { found, index } of doors) found[index] = 'unavailable';
  }
}

/** What did not come back with the others of its key, or is not to be believed: nobody enters on that. */
const NOTHING_KNOWN: LookedUp = { isIntact: false, record: undefined, venue: undefined };

/** The call goes on where it is; whoever asked is told that it took too long. */
function withinTime<Value>(call: Promise<Value>, ms: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable()), Math.max(0, ms));
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
