import { AppError, type Fault } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { RecordRules } from './key-grants.ts';
import { isObject, parseRecord, type SubmittedRecord } from './parse-record.ts';

/** A refusal stays small, whatever it refuses. */
const MAX_FAULTS = 100;
const MAX_POINTER = 2048;

/** What a request body is. */
export type Submission =
  { readonly kind: 'ping' } | { readonly kind: 'write'; readonly records: readonly SubmittedRecord[] };

/**
 * Tells a ping, a batch, a record and bare JSON apart, and checks the shape of every record.
 *
 * @throws AppError INVALID_REQUEST with every fault, BATCH_TOO_LARGE.
 */
export function parseSubmission(body: JsonValue, rules: RecordRules, maxBatchRecords: number): Submission {
  if (isObject(body) && 'assets' in body) return { kind: 'write', records: readBatch(body, maxBatchRecords) };
  if (isObject(body) && body['type'] === 'ping') return { kind: 'ping' };
  if (isObject(body) && rules.record === 'whole') return { kind: 'write', records: [wholeRecord(body, rules)] };
  const faults: Fault[] = [];
  const record = parseRecord(body, '', faults);
  if (faults.length > 0) throw invalid(faults);
  return { kind: 'write', records: [record] };
}

function wholeRecord(data: { [member: string]: JsonValue }, { defaultType }: RecordRules): SubmittedRecord {
  return {
    id: undefined,
    type: defaultType ?? 'unknown',
    owner: null,
    data,
    extra: null,
    targetChannels: undefined,
  };
}

function readBatch(body: { [member: string]: JsonValue }, maxBatchRecords: number): SubmittedRecord[] {
  const faults: Fault[] = [];
  for (const name of Object.keys(body).slice(0, MAX_FAULTS + 1)) {
    if (name !== 'assets') faults.push(fault(`/${escapePointer(name)}`, 'No other member may stand beside assets.'));
  }
  const { assets } = body;
  if (!Array.isArray(assets)) throw invalid([...faults, fault('/assets', 'assets is an array of records.')]);
  if (assets.length === 0) throw invalid([...faults, fault('/assets', 'A batch holds at least one record.')]);
  if (assets.length > maxBatchRecords) {
    throw new AppError(
      'BATCH_TOO_LARGE',
      `A batch holds at most ${maxBatchRecords} records; this one holds ${assets.length}.`,
    );
  }
  const records = assets.map((element, position) => parseRecord(element, `/assets/${position}`, faults));
  findRepeatedIds(records, faults);
  if (faults.length > 0) throw invalid(faults);
  return records;
}

function findRepeatedIds(records: readonly SubmittedRecord[], faults: Fault[]): void {
  const seen = new Set<string>();
  for (const [position, { id }] of records.entries()) {
    if (id === undefined) continue;
    if (seen.has(id)) faults.push(fault(`/assets/${position}/id`, 'The id stands in this batch already.'));
    seen.add(id);
  }
}

function invalid(faults: readonly Fault[]): AppError {
  return new AppError('INVALID_REQUEST', 'The body is not a ping, a record, a batch or bare JSON as documented.', {
    faults: faults.slice(0, MAX_FAULTS),
  });
}

function fault(pointer: string, detail: string): Fault {
  return { in: 'body', pointer: pointer.slice(0, MAX_POINTER), detail };
}

/** RFC 6901 section 3. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
