import { AppError, type Fault } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { RecordRules } from './caller.ts';

/** Bounds of the problem body, whatever the request. */
const MAX_FAULTS = 100;
const MAX_POINTER = 2048;

/** The kind of a request body. */
export type Submission =
  { readonly kind: 'ping' } | { readonly kind: 'write'; readonly records: readonly SubmittedRecord[] };

/**
 * Distinguishes a ping, a batch, a record and bare JSON, and checks the shape of every record.
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
    type: defaultType ?? DEFAULT_TYPE,
    owner: null,
    data,
    extra: null,
    targetChannels: undefined,
  };
}

function readBatch(body: { [member: string]: JsonValue }, maxBatchRecords: number): SubmittedRecord[] {
  const faults: Fault[] = [];
  for (const name of Object.keys(body).slice(0, MAX_FAULTS + 1)) {
    if (name !== 'assets') faults.push(fault(`/${escapePointer(name)}`, 'assets excludes other members.'));
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
    if (seen.has(id)) faults.push(fault(`/assets/${position}/id`, 'The id occurs in this batch already.'));
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

type Members = { [member: string]: JsonValue };

/** One record as it was sent, before sensitive members are removed and ids assigned. */
export interface SubmittedRecord {
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: Members;
  /** The members beside `data`; null without any. */
  readonly extra: Members | null;
  /** Undefined: the network's first channel. */
  readonly targetChannels: readonly string[] | undefined;
}

export const RECORD_LIMITS = {
  idMaxCodePoints: 256,
  typeMaxCodePoints: 128,
  ownerMaxCodePoints: 256,
  maxChannels: 8,
} as const;

export const DEFAULT_TYPE = 'unknown';
const RESERVED_NAMES = ['id', 'type', 'owner', 'data', 'targetChannels'];
const RESERVED: ReadonlySet<string> = new Set(RESERVED_NAMES);
/** Path segments that URLs normalise away, so no path can address them. */
export const DOT_SEGMENTS: ReadonlySet<string> = new Set(['.', '..']);
// eslint-disable-next-line no-control-regex -- the control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

export function isObject(value: JsonValue): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Reads one record at `pointer`. Faults are added to the list; the record must then not be used. */
export function parseRecord(value: JsonValue, pointer: string, faults: Fault[]): SubmittedRecord {
  if (!isObject(value))
    return { id: undefined, type: DEFAULT_TYPE, owner: null, data: { value }, extra: null, targetChannels: undefined };
  const id = readText(value, 'id', RECORD_LIMITS.idMaxCodePoints, { pointer, faults });
  if (id !== undefined && DOT_SEGMENTS.has(id)) {
    faults.push({ in: 'body', pointer: `${pointer}/id`, detail: 'No path could name a record of this id.' });
  }
  const type = readText(value, 'type', RECORD_LIMITS.typeMaxCodePoints, { pointer, faults }) ?? DEFAULT_TYPE;
  const owner = readText(value, 'owner', RECORD_LIMITS.ownerMaxCodePoints, { pointer, faults }) ?? null;
  const targetChannels = readChannels(value, pointer, faults);
  const { data } = value;
  if (data === undefined) return { id, type, owner, data: othersOf(value), extra: null, targetChannels };
  if (!isObject(data)) {
    faults.push({ in: 'body', pointer: `${pointer}/data`, detail: 'data is an object.' });
    return { id, type, owner, data: {}, extra: null, targetChannels };
  }
  const others = othersOf(value);
  return { id, type, owner, data, extra: Object.keys(others).length === 0 ? null : others, targetChannels };
}

/** The members without a meaning here; the object itself where none has one, since copying is expensive. */
function othersOf(value: Members): Members {
  if (RESERVED_NAMES.every((name) => value[name] === undefined)) return value;
  const others: Members = {};
  for (const name of Object.keys(value)) {
    if (!RESERVED.has(name)) others[name] = value[name]!;
  }
  return others;
}

function readText(
  value: Members,
  name: string,
  maxCodePoints: number,
  { pointer, faults }: { pointer: string; faults: Fault[] },
): string | undefined {
  const text = value[name];
  if (text === undefined) return undefined;
  if (typeof text === 'string' && isText(text, maxCodePoints)) return text;
  const detail = `${name} is a string of 1 to ${maxCodePoints} characters without control characters.`;
  faults.push({ in: 'body', pointer: `${pointer}/${name}`, detail });
  return undefined;
}

/** 1 to `maxCodePoints` code points, none of U+0000-001F and U+007F. */
export function isText(text: string, maxCodePoints: number): boolean {
  if (text.length === 0 || text.length > maxCodePoints * 2 || CONTROL.test(text)) return false;
  return text.length <= maxCodePoints || [...text].length <= maxCodePoints;
}

function readChannels(value: Members, pointer: string, faults: Fault[]): readonly string[] | undefined {
  const channels = value['targetChannels'];
  if (channels === undefined) return undefined;
  const at = `${pointer}/targetChannels`;
  if (!Array.isArray(channels) || channels.length === 0 || channels.length > RECORD_LIMITS.maxChannels) {
    faults.push({
      in: 'body',
      pointer: at,
      detail: `targetChannels is an array of 1 to ${RECORD_LIMITS.maxChannels} names.`,
    });
    return undefined;
  }
  const names: string[] = [];
  for (const [position, name] of channels.entries()) {
    if (typeof name !== 'string') {
      faults.push({ in: 'body', pointer: `${at}/${position}`, detail: 'The name of a channel is a string.' });
    } else if (names.includes(name)) {
      faults.push({ in: 'body', pointer: `${at}/${position}`, detail: 'The channel occurs in this list already.' });
    } else names.push(name);
  }
  return names;
}
