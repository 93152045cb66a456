import type { AppendUnit } from '@sealgate/ledger-port';
import type { KeyedHasher } from '@sealgate/auth';
import type { LedgerTarget } from '../domain/seal-case.ts';
import { seenName, versionIds, type VersionedRecord } from '../domain/versioned-record.ts';
import { recordsThatTell } from './ledger-versions.ts';
import type { SeenVersions } from './seen-versions.ts';

export interface LedgerWitness {
  /** The channel that is asked. */
  readonly channel: string;
  /** Ids of this version, and of the one after it: while the ledger holds none of those, this one is the newest that it knows. */
  idsOf(record: Pick<VersionedRecord, 'name' | 'version'>): readonly string[];
  nextIds(record: Pick<VersionedRecord, 'name' | 'version'>): readonly string[];
  /**
   * Those that the ledger contradicts: it holds other content under this version, or a version after it. What is so is
   * also remembered as seen, so that every later check meets it and tells a person. Settles as soon as the ledger does.
   * @throws LedgerUnavailableError when the ledger cannot be asked.
   */
  contradicted(records: readonly VersionedRecord[]): Promise<ReadonlySet<VersionedRecord>>;
  /** Those that the ledger does not hold. @throws LedgerUnavailableError when the ledger cannot be asked. */
  missing(records: readonly VersionedRecord[]): Promise<ReadonlySet<VersionedRecord>>;
}

export interface LedgerWitnessOptions {
  /** See `LedgerAppender`. */
  readonly findConflict: (unit: Pick<AppendUnit, 'channel' | 'records'>) => Promise<string | undefined>;
  /** Those of the ids that the channel holds. */
  readonly findHeld: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly target: LedgerTarget;
  /** Derives the ids of ledger records; each of its secrets may have made one. */
  readonly recordIds: KeyedHasher;
  readonly seen: SeenVersions;
}

/** Questions to the ledger about one batch: each after the first has found a contradiction, which is nobody's daily bread. */
const MOST_QUESTIONS = 8;

/**
 * Asks the ledger whether a version is the newest that it knows. All tables of this surface can be put back together; what
 * is in the ledger cannot be taken out without its audit telling.
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
        // Two rows of one thing in one answer: at most one of them is true.
        if (known !== undefined && known.data !== each.data) wrong.add(name);
        due.set(name, each);
      }
      for (let question = 0; due.size > 0; question += 1) {
        const asked = [...due].map(([name, record]) => ({ name, records: recordsThatTell(recordIds, record) }));
        const id = await findConflict({ ...target, records: asked.flatMap((each) => each.records) });
        if (id === undefined) break;
        const found = asked.find((each) => each.records.some((record) => record.id === id))?.name;
        if (found === undefined || question === MOST_QUESTIONS - 1) {
          // Nobody enters on what there was no time to ask about.
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
