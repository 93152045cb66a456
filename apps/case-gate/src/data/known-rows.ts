import { BoundedMap } from '@sealgate/api-keys';
import type { EligibilityRecord } from '../domain/eligibility-record.ts';
import type { KeyGrants } from '../domain/key-grants.ts';
import type { VenueRecord } from '../domain/versioned-record.ts';
import type { SubjectRow, VenueRow } from './entry-facts.ts';
import type { KeyRow } from './verified-keys.ts';

/**
 * A row found authentic and the newest known to the ledger. Every check reads the row again, and takes the cached value
 * only if every column is the same; the same statement asks whether the ledger still holds none of `nextIds`.
 */
export interface Known<Row, Value> {
  readonly row: Row;
  readonly value: Value;
  readonly nextIds: readonly string[];
}

export interface KnownSubject {
  readonly record: EligibilityRecord;
  /** The newest epoch when the record was found confirmed. After a later one it must be checked again. */
  readonly epoch: number;
}

/**
 * What this process has verified, to save verifying it again. Forgetting entries costs time only. Rows are copied
 * without other columns, since twenty thousand of them must fit into the heap.
 */
export interface KnownRows {
  /** By hash of the key, as latin1. */
  readonly keys: Map<string, Known<KeyRow, KeyGrants>>;
  /** By `seenName`. */
  readonly subjects: Map<string, Known<SubjectRow, KnownSubject>>;
  readonly venues: Map<string, Known<VenueRow, VenueRecord>>;
}

/** Past `most` rows of a kind the oldest entry is evicted. */
export function knownRows(most: number): KnownRows {
  return { keys: new BoundedMap(most), subjects: new BoundedMap(most), venues: new BoundedMap(most) };
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
