import { BoundedMap } from '@sealgate/api-keys';
import type { EligibilityRecord } from '../domain/eligibility-record.ts';
import type { KeyGrants } from '../domain/key-grants.ts';
import type { VenueRecord } from '../domain/versioned-record.ts';
import type { SubjectRow, VenueRow } from './entry-facts.ts';
import type { KeyRow } from './verified-keys.ts';

/**
 * A row that was found authentic, and the newest that the ledger knew. It is read again for every check, and only where it
 * is the same in every column is what it says taken from here; whether the ledger still holds none of `nextIds` is asked in
 * the statement that reads it.
 */
export interface Known<Row, Value> {
  readonly row: Row;
  readonly value: Value;
  readonly nextIds: readonly string[];
}

export interface KnownSubject {
  readonly record: EligibilityRecord;
  /** The newest epoch when it was found confirmed; after a later one it has to be found so again. */
  readonly epoch: number;
}

/**
 * What one process has found, so that it need not be found anew. Forgetting any of it costs time alone. A row here has its
 * own columns and no others: twenty thousand of them have to fit into the heap.
 */
export interface KnownRows {
  /** By hash of the key, as latin1. */
  readonly keys: Map<string, Known<KeyRow, KeyGrants>>;
  /** By `seenName`. */
  readonly subjects: Map<string, Known<SubjectRow, KnownSubject>>;
  readonly venues: Map<string, Known<VenueRow, VenueRecord>>;
}

/** Past `most` rows of a kind, the one found first is forgotten. */
export function knownRows(most: number): KnownRows {
  return { keys: new BoundedMap(most), subjects: new BoundedMap(most), venues: new BoundedMap(most) };
}
