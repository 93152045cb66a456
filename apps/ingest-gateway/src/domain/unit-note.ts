import { digitsOf } from './read-events.ts';

/** What the ledger stores of a request beside its records. */
export interface UnitNote {
  readonly eventId: string;
  /** Number of transactions of the request. */
  readonly units: number;
  readonly strippedFields: number;
}

/** The other members of the request's event. */
export interface UnitEvent {
  readonly keyId: string;
  readonly requestId: string;
  readonly types: readonly string[];
}

/** Separates what the ledger stores from what it only passes to `ingest.append_v3`. */
const BESIDE = '\f';

/**
 * The text of a note: event id, empty, number of transactions, number of stripped fields, empty, `[]`; after a form
 * feed key id, request id and types. All separated by tabs, for SQL to split: ids contain none, and JSON escapes
 * control characters. Earlier versions stored key id, request id and types in the fields that are now empty; they can
 * read this form.
 */
export function writeNote({ eventId, units, strippedFields }: UnitNote, event: UnitEvent): string {
  return withEvent(`${eventId}\t\t${units}\t${strippedFields}\t\t[]`, event);
}

/** The note of a request that an earlier attempt began, as a replay returned it, for the remaining transactions. */
export function withEvent(note: string, { keyId, requestId, types }: UnitEvent): string {
  return `${keptOf(note)}${BESIDE}${keyId}\t${requestId}\t${JSON.stringify(types)}`;
}

export function readNote(note: string): UnitNote {
  const [eventId = '', , units, strippedFields] = keptOf(note).split('\t');
  return { eventId, units: Number(units), strippedFields: Number(strippedFields) };
}

export function readUnitEvent(note: string): UnitEvent {
  const [kept = '', beside] = note.split(BESIDE);
  const [, keyOfBefore, , , requestOfBefore, typesOfBefore] = kept.split('\t');
  const [keyId = '', requestId = '', types = '[]'] = beside?.split('\t') ?? [
    keyOfBefore,
    requestOfBefore,
    typesOfBefore,
  ];
  return { keyId, requestId, types: JSON.parse(types) as string[] };
}

/** The 16 bytes of an event id made here, ten of them unguessable; the ledger stores them once, with the note. */
export function nonceOf(eventId: string): Buffer | undefined {
  const digits = digitsOf(eventId);
  return digits === undefined ? undefined : Buffer.from(digits, 'hex');
}

const keptOf = (note: string): string => note.split(BESIDE, 1)[0] ?? '';
