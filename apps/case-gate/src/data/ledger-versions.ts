import { BoundedMap } from '@sealgate/api-keys';
import type { KeyedHasher } from '@sealgate/auth';
import { conflictIn, heldIn } from '@sealgate/ledger-embedded';
import { LedgerUnavailableError, type AppendUnit } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import type { LedgerTarget } from '../domain/seal-case.ts';
import { versionIds, seenName, type VersionedRecord } from '../domain/versioned-record.ts';

interface LedgerVersionsOptions {
  readonly target: LedgerTarget;
  /** Derives the ids of ledger records. Any of its secrets may have made an id. */
  readonly recordIds: KeyedHasher;
}

/** Versions in the ledger. Each method fails and ends as a statement of `sql` does. */
export interface LedgerVersions extends LedgerVersionsOptions {
  /** Whether the ledger holds other content under this version, or a version after it. */
  isContradicted(sql: Sql, record: VersionedRecord): Promise<boolean>;
  /** Those of which neither the ledger nor the outbox holds any id. */
  missing<Each>(sql: Sql, all: readonly Each[], idsOf: (one: Each) => readonly string[]): Promise<ReadonlySet<Each>>;
  /** Declared losses of the channel, as seen by the transaction of `sql`. */
  losses(sql: Sql): Promise<DeclaredLoss[]>;
  /** The newest version that the ledger holds; undefined for none. */
  newest(sql: Sql, name: readonly string[]): Promise<number | undefined>;
}

/** Never a document of ours, so any record under this id is a conflict. */
const NO_DOCUMENT = 'null';
/** The ledger holds at least one of this many consecutive versions, up to the newest. */
export const VERSIONS_AT_ONCE = 128;

export function ledgerVersions(options: LedgerVersionsOptions): LedgerVersions {
  const { target, recordIds } = options;
  return {
    ...options,
    async isContradicted(sql, record) {
      const records = contradictingRecords(recordIds, record);
      return (await asDatabaseError(conflictIn(sql, { ...target, records }))) !== undefined;
    },
    async missing(sql, all, idsOf) {
      const ids = all.flatMap(idsOf);
      if (ids.length === 0) return new Set();
      // The outbox first: a record that leaves it meanwhile is in the ledger.
      const text = 'SELECT record_id FROM gate.outbox WHERE record_id = ANY ($1)';
      const waiting = await sql.query<{ record_id: string }>({ text, values: [ids] });
      const there = new Set(waiting.map((row) => row.record_id));
      for (const id of await asDatabaseError(heldIn(sql, target.channel, ids))) there.add(id);
      return new Set(all.filter((each) => !idsOf(each).some((id) => there.has(id))));
    },
    losses: (sql) => readLosses(sql, target.channel),
    async newest(sql, name) {
      let newest: number | undefined;
      // Versions are consecutive, so the first batch without any is the end.
      for (let first = 0; ; first += VERSIONS_AT_ONCE) {
        const ids = Array.from({ length: VERSIONS_AT_ONCE }, (_, at) => versionIds(recordIds, name, first + at));
        const held = await asDatabaseError(heldIn(sql, target.channel, ids.flat()));
        const last = ids.findLastIndex((some) => some.some((id) => held.has(id)));
        if (last < 0) return newest;
        newest = first + last;
      }
    },
  };
}

/** Rethrows an unavailable ledger as the database error that caused it, since both share the connection. */
function asDatabaseError<Result>(call: Promise<Result>): Promise<Result> {
  return call.catch((error: unknown) => {
    throw error instanceof LedgerUnavailableError && error.cause !== undefined ? error.cause : error;
  });
}

/**
 * Records that conflict with the ledger where it contradicts a version: the next version, which must not exist, and
 * this one with its content, which exists or is on its way. Under the ids of every secret.
 */
function contradictingRecords(recordIds: KeyedHasher, { name, type, version, data }: VersionedRecord) {
  const recordsAs = (of: number, content: string) =>
    versionIds(recordIds, name, of).map((id) => ({ id, type, owner: null, data: content, extra: null }));
  return [...recordsAs(version, data), ...recordsAs(version + 1, NO_DOCUMENT)];
}

export interface LedgerWitness {
  /** The channel of the records. */
  readonly channel: string;
  /** Ids of this version, and of the next. While the ledger holds none of the latter, this version is the newest. */
  idsOf(record: Pick<VersionedRecord, 'name' | 'version'>): readonly string[];
  nextIds(record: Pick<VersionedRecord, 'name' | 'version'>): readonly string[];
  /**
   * Those that the ledger contradicts: it holds other content under this version, or a later version. They are also
   * noted as seen, so that every later check detects and reports them. Settles as soon as the ledger does.
   * @throws LedgerUnavailableError when the ledger does not answer.
   */
  contradicted(records: readonly VersionedRecord[]): Promise<ReadonlySet<VersionedRecord>>;
  /** Those that the ledger does not hold. @throws LedgerUnavailableError when the ledger does not answer. */
  missing(records: readonly VersionedRecord[]): Promise<ReadonlySet<VersionedRecord>>;
}

export interface LedgerWitnessOptions {
  /** See `LedgerAppender`. */
  readonly findConflict: (unit: Pick<AppendUnit, 'channel' | 'records'>) => Promise<string | undefined>;
  /** The given ids that the channel holds. */
  readonly findHeld: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly target: LedgerTarget;
  /** Derives the ids of ledger records. Any of its secrets may have made an id. */
  readonly recordIds: KeyedHasher;
  readonly seen: SeenVersions;
}

/** Maximum ledger questions per batch. Every one after the first follows a contradiction, which is rare. */
const MAX_QUESTIONS = 8;

/**
 * Asks the ledger whether versions are the newest it knows. All tables of this surface can be rolled back together;
 * removing a record from the ledger is detected by its audit.
 */
export function ledgerWitness({
  findConflict,
  findHeld,
  target,
  recordIds,
  seen,
}: LedgerWitnessOptions): LedgerWitness {
  const idsOf: LedgerWitness['idsOf'] = ({ name, version }) => versionIds(recordIds, name, version);
  return {
    channel: target.channel,
    idsOf,
    nextIds: ({ name, version }) => versionIds(recordIds, name, version + 1),
    async missing(records) {
      if (records.length === 0) return new Set();
      const held = await findHeld(records.flatMap(idsOf));
      return new Set(records.filter((record) => !idsOf(record).some((id) => held.has(id))));
    },
    async contradicted(records) {
      const due = new Map<string, VersionedRecord>();
      const wrong = new Set<string>();
      for (const each of records) {
        const name = seenName(each.name);
        const known = due.get(name);
        // Two different rows of one thing: at most one can be authentic.
        if (known !== undefined && known.data !== each.data) wrong.add(name);
        due.set(name, each);
      }
      for (let question = 0; due.size > 0; question += 1) {
        const asked = [...due].map(([name, record]) => ({ name, records: contradictingRecords(recordIds, record) }));
        const id = await findConflict({ ...target, records: asked.flatMap((each) => each.records) });
        if (id === undefined) break;
        const found = asked.find((each) => each.records.some((record) => record.id === id))?.name;
        if (found === undefined || question === MAX_QUESTIONS - 1) {
          // Refuse those that there was no time to ask about.
          for (const left of due.keys()) wrong.add(left);
          break;
        }
        wrong.add(found);
        seen.see(found, due.get(found)!.version + 1);
        due.delete(found);
      }
      return new Set(records.filter(({ name }) => wrong.has(seenName(name))));
    },
  };
}

/** An authentic row that would allow entry, and about which the ledger has not been asked. */
export interface PendingCheck {
  readonly record: VersionedRecord;
  /** Whether the ledger must also hold this version, because losses were declared since it was made. */
  readonly mustBeHeld?: boolean;
  /** Called where the ledger does not contradict it. */
  readonly remember: (nextIds: readonly string[]) => void;
}

/** Why a row is refused: the ledger contradicts it, does not hold what it must hold, or does not answer. */
export type Refusal = 'contradicted' | 'missing' | 'unavailable';

/** Asks the ledger about these rows. Returns those it refuses, all if it does not answer; remembers the others. */
export async function askWitness(
  witness: LedgerWitness,
  due: readonly PendingCheck[],
  onCorrupt: (what: string) => void,
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

/** The highest version of each record that this process has seen. An older one was rolled back. */
export interface SeenVersions {
  /** A position in the order of questions, to be taken before a question is sent. */
  mark(): number;
  /**
   * The highest version seen before the mark; 0 for none. An answer that crossed a later question may be older than
   * what was seen since, which is no fault.
   */
  highestBefore(mark: number, name: string): number;
  /** The highest version seen at all; undefined for none. */
  highest(name: string): number | undefined;
  /** Notes a verified version. */
  see(name: string, version: number): void;
  /** Every name with its highest version. */
  all(): { readonly name: string; readonly version: number }[];
}

/** Bounded: past `most` names the oldest is evicted. The history in the database is compared as well. */
export function seenVersions(most: number): SeenVersions {
  const versions = new BoundedMap<string, { readonly version: number; readonly at: number }>(most);
  let order = 0;
  return {
    mark: () => (order += 1),
    highestBefore(mark, name) {
      const known = versions.get(name);
      return known === undefined || known.at >= mark ? 0 : known.version;
    },
    highest: (name) => versions.get(name)?.version,
    see(name, version) {
      const known = versions.get(name);
      if (known !== undefined && known.version >= version) return;
      versions.set(name, { version, at: order });
    },
    all: () => [...versions].map(([name, { version }]) => ({ name, version })),
  };
}

/** Declared losses of a channel, oldest first. Fails and ends as a statement of `sql` does. */
export async function readLosses(sql: Sql, channel: string, deadlineMs?: number): Promise<DeclaredLoss[]> {
  const statement = {
    name: 'gate losses',
    text: 'SELECT epoch, kept_at_ms FROM ledger.epochs(ARRAY[$1::text]) ORDER BY epoch',
    values: [channel],
  };
  const rows = await sql.query<{ epoch: number; kept_at_ms: string }>(
    statement,
    deadlineMs === undefined ? undefined : { deadlineMs },
  );
  return rows.map(({ epoch, kept_at_ms: keptAtMs }) => ({ epoch, keptAtMs: Number(keptAtMs) }));
}

export interface LossWatch {
  /**
   * The declared losses, cached for less than a second: a channel resumes at least two seconds after its loss was
   * declared, so whoever gets an answer from the ledger afterwards knows of the loss.
   * @throws what reading them does.
   */
  readonly current: () => Promise<readonly DeclaredLoss[]>;
  /** Reads them, so that `current` need not. */
  readonly refresh: () => Promise<readonly DeclaredLoss[]>;
}

const FRESH_MS = 1000;

export function lossWatch(read: () => Promise<readonly DeclaredLoss[]>, now: () => number): LossWatch {
  let newest: { readonly askedMs: number; readonly losses: readonly DeclaredLoss[] } | undefined;
  let running: { readonly askedMs: number; readonly answer: Promise<readonly DeclaredLoss[]> } | undefined;
  const isFresh = (of: { readonly askedMs: number }): boolean => now() - of.askedMs < FRESH_MS;
  const refresh = (): Promise<readonly DeclaredLoss[]> => {
    if (running !== undefined && isFresh(running)) return running.answer;
    const askedMs = now();
    const answer = read().then((losses) => {
      if (newest === undefined || askedMs >= newest.askedMs) newest = { askedMs, losses };
      return losses;
    });
    const mine = { askedMs, answer };
    running = mine;
    const over = (): void => {
      if (running === mine) running = undefined;
    };
    answer.then(over, over);
    return answer;
  };
  return {
    current: () => (newest !== undefined && isFresh(newest) ? Promise.resolve(newest.losses) : refresh()),
    refresh,
  };
}
