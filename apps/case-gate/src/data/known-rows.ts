import type { EligibilityRecord } from '../domain/eligibility-record.ts';
import type { KeyGrants } from '../domain/key-grants.ts';
import type { VenueRecord } from '../domain/venue-record.ts';
import type { FactRow } from './entry-facts.ts';
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

export interface KnownMap<Row, Value> {
  get(name: string): Known<Row, Value> | undefined;
  set(name: string, known: Known<Row, Value>): void;
  delete(name: string): void;
}

export interface KnownSubject {
  readonly record: EligibilityRecord;
  /** The newest epoch when it was found confirmed; after a later one it has to be found so again. */
  readonly epoch: number;
}

/** What one process has found, so that it need not be found anew. Forgetting any of it costs time alone. */
export interface KnownRows {
  /** By hash of the key, as latin1. */
  readonly keys: KnownMap<KeyRow, KeyGrants>;
  /** By `seenName`. */
  readonly subjects: KnownMap<FactRow, KnownSubject>;
  readonly venues: KnownMap<FactRow, VenueRecord>;
}

/** Past `most` rows of a kind, the one found first is forgotten. */
export function knownRows(most: number): KnownRows {
  return { keys: knownMap(most), subjects: knownMap(most), venues: knownMap(most) };
}

function knownMap<Row, Value>(most: number): KnownMap<Row, Value> {
  const map = new Map<string, Known<Row, Value>>();
  return {
    get: (name) => map.get(name),
    set(name, known) {
      map.delete(name); // So that it moves to the end.
      if (map.size >= most) map.delete(map.keys().next().value!);
      map.set(name, known);
    },
    delete: (name) => void map.delete(name),
  };
}
