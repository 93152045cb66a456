import type { KeyedHasher } from '@sealgate/auth';
import { conflictIn, heldIn } from '@sealgate/ledger-embedded';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import type { DeclaredLoss } from '../domain/declared-losses.ts';
import type { LedgerTarget } from '../domain/seal-case.ts';
import { versionIds, type VersionedRecord } from '../domain/versioned-record.ts';
import { readLosses } from './loss-watch.ts';

export interface LedgerVersionsOptions {
  readonly target: LedgerTarget;
  /** Derives the ids of ledger records; each of its secrets may have made one. */
  readonly recordIds: KeyedHasher;
}

/** What the ledger knows of versions. Every method ends as a statement of `sql` does. */
export interface LedgerVersions extends LedgerVersionsOptions {
  /** Whether the ledger holds other content under this version, or a version after it. */
  isContradicted(sql: Sql, record: VersionedRecord): Promise<boolean>;
  /** Those that the ledger holds under none of their ids, and that are not on their way to it. */
  missing<Each>(sql: Sql, all: readonly Each[], idsOf: (one: Each) => readonly string[]): Promise<ReadonlySet<Each>>;
  /** Losses that were declared of the channel, as the transaction of `sql` sees them. */
  losses(sql: Sql): Promise<DeclaredLoss[]>;
  /** The newest version that the ledger holds; undefined for none. */
  newest(sql: Sql, name: readonly string[]): Promise<number | undefined>;
}

/** No record of ours: whatever the ledger holds under the id it stands at is other content. */
const NO_DOCUMENT = 'null';
/** Of every so many versions in a row the ledger holds at least one, up to the newest. */
export const VERSIONS_AT_ONCE = 128;

export function ledgerVersions(options: LedgerVersionsOptions): LedgerVersions {
  const { target, recordIds } = options;
  return {
    ...options,
    async isContradicted(sql, record) {
      const records = recordsThatTell(recordIds, record);
      return (await asItWas(conflictIn(sql, { ...target, records }))) !== undefined;
    },
    async missing(sql, all, idsOf) {
      const ids = all.flatMap(idsOf);
      if (ids.length === 0) return new Set();
      // The outbox first: what leaves it meanwhile is in the ledger.
      const text = 'SELECT record_id FROM gate.outbox WHERE record_id = ANY ($1)';
      const waiting = await sql.query<{ record_id: string }>({ text, values: [ids] });
      const there = new Set(waiting.map((row) => row.record_id));
      for (const id of await asItWas(heldIn(sql, target.channel, ids))) there.add(id);
      return new Set(all.filter((each) => !idsOf(each).some((id) => there.has(id))));
    },
    losses: (sql) => readLosses(sql, target.channel),
    async newest(sql, name) {
      let newest: number | undefined;
      // Versions follow one another, so the first stretch that holds none is the end.
      for (let first = 0; ; first += VERSIONS_AT_ONCE) {
        const ids = Array.from({ length: VERSIONS_AT_ONCE }, (_, at) => versionIds(recordIds, name, first + at));
        const held = await asItWas(heldIn(sql, target.channel, ids.flat()));
        const last = ids.findLastIndex((some) => some.some((id) => held.has(id)));
        if (last < 0) return newest;
        newest = first + last;
      }
    },
  };
}

/** In a transaction of ours the ledger being away is the database being away, and is told as that. */
function asItWas<Result>(call: Promise<Result>): Promise<Result> {
  return call.catch((error: unknown) => {
    throw error instanceof LedgerUnavailableError && error.cause !== undefined ? error.cause : error;
  });
}

/**
 * What a record conflicts with where the ledger contradicts it: the next version, which must not be there, and this one with
 * its content, which is there or on its way. By the id of every secret.
 */
export function recordsThatTell(recordIds: KeyedHasher, { name, type, version, data }: VersionedRecord) {
  const recordsAs = (of: number, content: string) =>
    versionIds(recordIds, name, of).map((id) => ({ id, type, owner: null, data: content, extra: null }));
  return [...recordsAs(version, data), ...recordsAs(version + 1, NO_DOCUMENT)];
}
