/** What the ledger keeps of a request beside its records: enough to give the same answer again, and its event. */
export interface UnitNote {
  readonly eventId: string;
  readonly keyId: string;
  /** How many transactions the request has. */
  readonly units: number;
  readonly strippedFields: number;
  readonly requestId: string;
  readonly types: readonly string[];
}

/**
 * The text of a note: its members in this order, separated by tabs. `ingest.append_v1` takes it apart to write the
 * event. Ids hold no tab, and in JSON a tab is written as an escape.
 */
export function writeNote({ eventId, keyId, units, strippedFields, requestId, types }: UnitNote): string {
  return `${eventId}\t${keyId}\t${units}\t${strippedFields}\t${requestId}\t${JSON.stringify(types)}`;
}

export function readNote(text: string): UnitNote {
  const [eventId = '', keyId = '', units, strippedFields, requestId = '', types = '[]'] = text.split('\t');
  const names = JSON.parse(types) as string[];
  return { eventId, keyId, units: Number(units), strippedFields: Number(strippedFields), requestId, types: names };
}
