import type { KeyedHasher } from '@sealgate/auth';
import type { LedgerAppender } from '@sealgate/ledger-port';
import { ELIGIBILITY_RECORD_TYPE, eligibilityRecordIds } from '../domain/change-eligibility.ts';
import type { LedgerTarget } from '../domain/seal-case.ts';
import { subjectName, type SeenVersions } from './seen-versions.ts';

/** A stored record that was believed, and would let somebody in. */
export interface Testimony {
  readonly environment: string;
  readonly subjectRef: string;
  readonly version: number;
  /** The stored text. */
  readonly document: string;
}

export interface LedgerWitness {
  /**
   * Those that the ledger contradicts: it holds other content under this version, or a version after it. What is so is
   * also remembered as seen, so that every later check meets it and tells a person. Settles as soon as the ledger does.
   * @throws LedgerUnavailableError when the ledger cannot be asked.
   */
  contradicted(testimonies: readonly Testimony[]): Promise<ReadonlySet<Testimony>>;
}

export interface LedgerWitnessOptions {
  readonly ledger: Pick<LedgerAppender, 'findConflict'>;
  readonly target: LedgerTarget;
  /** Derives the ids of ledger records; each of its secrets may have made one. */
  readonly recordIds: KeyedHasher;
  readonly seen: SeenVersions;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long an answer of the ledger holds for the same record, in milliseconds. */
  readonly freshMs?: number;
}

const FRESH_MS = 1000;
const MOST_REMEMBERED = 20_000;
/** Questions to the ledger about one batch: each after the first has found a contradiction, which is nobody's daily bread. */
const MOST_QUESTIONS = 8;
/** No record of ours: whatever the ledger holds under the id it stands at is other content. */
const NO_DOCUMENT = 'null';

/**
 * Asks the ledger whether a record is the newest that it knows of its subject. The history in the database can be put back
 * together with the record; what is in the ledger cannot be taken out without its audit telling.
 */
export function ledgerWitness({
  ledger,
  target,
  recordIds,
  seen,
  now,
  freshMs = FRESH_MS,
}: LedgerWitnessOptions): LedgerWitness {
  const confirmed = new Map<string, { readonly document: string; readonly atMs: number }>();
  /** When the ledger last did not contradict this very record; undefined for never. */
  const confirmedMs = ({ document }: Testimony, name: string): number | undefined => {
    const known = confirmed.get(name);
    return known?.document === document ? known.atMs : undefined;
  };
  const remember = (name: string, document: string, atMs: number): void => {
    confirmed.delete(name); // So that it moves to the end.
    if (confirmed.size >= MOST_REMEMBERED) confirmed.delete(confirmed.keys().next().value!);
    confirmed.set(name, { document, atMs });
  };

  return {
    async contradicted(testimonies) {
      const due = new Map<string, Due>();
      const wrong = new Set<string>();
      const askedMs = now();
      for (const each of testimonies) {
        const name = nameOf(each);
        const lastMs = confirmedMs(each, name);
        // Two records of one subject in one answer: at most one of them is true.
        if (due.has(name) && due.get(name)!.document !== each.document) wrong.add(name);
        if (lastMs === undefined || askedMs - lastMs >= freshMs)
          due.set(name, { ...each, isNew: lastMs === undefined });
      }
      for (let question = 0; due.size > 0; question += 1) {
        const { records, owners } = recordsOf([...due], recordIds);
        const id = await ledger.findConflict({ ...target, note: '{}', records });
        if (id === undefined) break;
        const name = owners.get(id);
        if (name === undefined || question === MOST_QUESTIONS - 1) {
          // Nobody enters on what there was no time to ask about.
          for (const left of due.keys()) wrong.add(left);
          break;
        }
        wrong.add(name);
        seen.see(name, due.get(name)!.version + 1);
        confirmed.delete(name);
        due.delete(name);
      }
      for (const [name, { document }] of due) if (!wrong.has(name)) remember(name, document, askedMs);
      return new Set(testimonies.filter((each) => wrong.has(nameOf(each))));
    },
  };
}

function nameOf({ environment, subjectRef }: Testimony): string {
  return subjectName(environment, subjectRef);
}

interface Due extends Testimony {
  /** This process has not asked about this version with this content. */
  readonly isNew: boolean;
}

/**
 * For each: the next version, which must not be there. Once also this version with its content, which is there or on its
 * way: what the ledger holds under an id it holds for ever.
 */
function recordsOf(due: readonly (readonly [string, Due])[], recordIds: KeyedHasher) {
  const owners = new Map<string, string>();
  const records = due.flatMap(([name, { environment, subjectRef, version, document, isNew }]) => {
    const recordsAs = (of: number, data: string) =>
      eligibilityRecordIds(recordIds, { environment, subjectRef }, of).map((id) => {
        owners.set(id, name);
        return { id, type: ELIGIBILITY_RECORD_TYPE, owner: null, data, extra: null };
      });
    return [...(isNew ? recordsAs(version, document) : []), ...recordsAs(version + 1, NO_DOCUMENT)];
  });
  return { records, owners };
}
