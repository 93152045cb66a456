/** What a request leaves beside its records. */
export interface UnitNote {
  readonly eventId: string;
  /** How many transactions the request has. */
  readonly units: number;
  readonly strippedFields: number;
}

/** What its event says besides. */
export interface UnitEvent {
  readonly keyId: string;
  readonly requestId: string;
  readonly types: readonly string[];
}

/** What stands behind it the embedded ledger hands to `ingest.append_v3`, and does not keep. */
const BESIDE = '\f';

/**
 * The text of a note: event id, nothing, how many transactions, how many fields were stripped, nothing, no types; behind a
 * form feed key id, request id and types. All separated by tabs, for SQL that takes them apart: ids hold none, and in JSON
 * control characters are escaped. Versions before have the members of the event where there is nothing, and read this one.
 */
export function writeNote({ eventId, units, strippedFields }: UnitNote, event: UnitEvent): string {
  return withEvent(`${eventId}\t\t${units}\t${strippedFields}\t\t[]`, event);
}

/** The note of a request that was begun before, as a replay gave it back, for what this one goes on with. */
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

/** The 16 bytes of an event id that we made, of which nobody could know ten; the ledger keeps them once, with the note. */
export function nonceOf(eventId: string): Buffer | undefined {
  const digits = /^evt_([0-9a-f]{32})$/.exec(eventId)?.[1];
  return digits === undefined ? undefined : Buffer.from(digits, 'hex');
}

const keptOf = (note: string): string => note.split(BESIDE, 1)[0] ?? '';
