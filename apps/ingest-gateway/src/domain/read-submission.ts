import { AppError, type Fault } from '@sealgate/errors';
import { canonical, escapePointer, parseStrict, type JsonValue } from '@sealgate/json';
import type { KeyGrants } from './key.ts';

/** Limits of the content of a body. A new one is a member here and in DEFAULT_LIMITS, and a field in `config.ts`. */
export interface SubmissionLimits {
  readonly maxBatchRecords: number;
}

export const DEFAULT_LIMITS: SubmissionLimits = { maxBatchRecords: 100 };

/** What reading a body depends on besides its bytes. Plain data, so it can be posted to another thread. */
export interface ReadingRules {
  /** The settings of the key. */
  readonly record: KeyGrants['record'];
  readonly defaultType?: string | undefined;
  readonly limits: SubmissionLimits;
}

/** A record to write: sensitive members removed, content in canonical JSON. Ids and channels may still be missing. */
export interface CanonicalRecord {
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: string;
  /** The members beside `data`; null where none is left. */
  readonly extra: string | null;
  /** Undefined: the network's first channel. */
  readonly targetChannels: readonly string[] | undefined;
}

/** What a request body holds. */
export type CanonicalSubmission =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'write';
      readonly records: readonly CanonicalRecord[];
      /** Number of sensitive members removed. */
      readonly strippedFields: number;
    };

type Members = { [member: string]: JsonValue };

/**
 * Turns a body into all that the rest of the request needs: texts and numbers, nothing of the parsed value. This is the
 * one step whose time and garbage depend on the content and not only on the size, so it can run in another thread.
 *
 * @throws AppError INVALID_JSON, JSON_TOO_DEEP, DUPLICATE_MEMBER, UNSAFE_NUMBER; then INVALID_REQUEST with every fault,
 * BATCH_TOO_LARGE. They carry only code, detail and faults.
 */
export function readSubmission(bytes: Uint8Array, rules: ReadingRules): CanonicalSubmission {
  const submission = parseSubmission(parseStrict(bytes), rules);
  if (submission.kind === 'ping') return submission;
  let strippedFields = 0;
  const records: CanonicalRecord[] = [];
  for (const { id, type, owner, data, extra, targetChannels } of submission.records) {
    const kept = stripSensitive(data);
    const beside = extra === null ? undefined : stripSensitive(extra);
    strippedFields += kept.removed + (beside?.removed ?? 0);
    const besideText = beside === undefined ? null : canonicalExtra(beside.value);
    records.push({ id, type, owner, data: canonical(kept.value), extra: besideText, targetChannels });
  }
  return { kind: 'write', records, strippedFields };
}

function canonicalExtra(extra: Members): string | null {
  return Object.keys(extra).length === 0 ? null : canonical(extra);
}

/** One record as it was sent, before sensitive members are removed and ids assigned. */
interface SubmittedRecord extends Omit<CanonicalRecord, 'data' | 'extra'> {
  readonly data: Members;
  /** The members beside `data`; null without any. */
  readonly extra: Members | null;
}

/** A request body as it was sent, by its kind. */
type Submission = { readonly kind: 'ping' } | { readonly kind: 'write'; readonly records: readonly SubmittedRecord[] };

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

/** Bounds of the problem body, whatever the request. */
const MAX_FAULTS = 100;
const MAX_POINTER = 2048;

/**
 * Distinguishes a ping, a batch, a record and bare JSON, and checks the shape of every record.
 *
 * @throws AppError INVALID_REQUEST with every fault, BATCH_TOO_LARGE.
 */
export function parseSubmission(body: JsonValue, rules: ReadingRules): Submission {
  if (isObject(body) && 'assets' in body) return { kind: 'write', records: readBatch(body, rules.limits) };
  if (isObject(body) && body['type'] === 'ping') return { kind: 'ping' };
  if (isObject(body) && rules.record === 'whole') return { kind: 'write', records: [wholeRecord(body, rules)] };
  const faults: Fault[] = [];
  const record = parseRecord(body, '', faults);
  if (faults.length > 0) throw invalid(faults);
  return { kind: 'write', records: [record] };
}

function wholeRecord(data: Members, { defaultType }: ReadingRules): SubmittedRecord {
  return {
    id: undefined,
    type: defaultType ?? DEFAULT_TYPE,
    owner: null,
    data,
    extra: null,
    targetChannels: undefined,
  };
}

function readBatch(body: Members, { maxBatchRecords }: SubmissionLimits): SubmittedRecord[] {
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

export function isObject(value: JsonValue): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Reads one record at `pointer`. Faults are added to the list; the record must then not be used. */
function parseRecord(value: JsonValue, pointer: string, faults: Fault[]): SubmittedRecord {
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

/** Members never stored or logged: by exact name, ASCII case-insensitive, at any depth. */
export const SENSITIVE_NAMES: ReadonlySet<string> = new Set([
  'password',
  'ssn',
  'social_security_number',
  'credit_card',
  'credit_card_number',
  'cvv',
]);

/** Length and first letter, case-insensitive: a cheap filter that almost no other name passes. */
const shapeOf = (name: string): number => name.length * 0x10000 + (name.charCodeAt(0) | 0x20);
const SHAPES: ReadonlySet<number> = new Set([...SENSITIVE_NAMES].map(shapeOf));

/** Only ASCII letters are folded: `ſsn` (long s) is not `ssn`, although Unicode case folding would equate them. */
function isSensitive(name: string): boolean {
  if (!SHAPES.has(shapeOf(name))) return false;
  return SENSITIVE_NAMES.has(name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

/**
 * The value without sensitive members, and how many were removed, not counting what was inside them. A value without
 * any is returned itself, not copied.
 */
export function stripSensitive<Value extends JsonValue>(
  value: Value,
): { readonly value: Value; readonly removed: number } {
  const counter = { removed: 0 };
  const kept = strip(value, counter) as Value;
  return { value: kept, removed: counter.removed };
}

function strip(value: JsonValue, counter: { removed: number }): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  return Array.isArray(value) ? stripArray(value, counter) : stripObject(value, counter);
}

function stripArray(items: JsonValue[], counter: { removed: number }): JsonValue[] {
  let copy: JsonValue[] | undefined;
  for (const [position, item] of items.entries()) {
    const kept = strip(item, counter);
    if (kept !== item) (copy ??= items.slice())[position] = kept;
  }
  return copy ?? items;
}

/** One pass: copying starts at the first member that is removed or changed; most objects are never copied. */
function stripObject(members: Members, counter: { removed: number }): Members {
  const names = Object.keys(members);
  let copy: Members | undefined;
  for (const [position, name] of names.entries()) {
    if (isSensitive(name)) {
      counter.removed += 1;
      copy ??= copyOfFirst(members, names.slice(0, position));
      continue;
    }
    const item = members[name]!;
    const kept = strip(item, counter);
    if (kept !== item) copy ??= copyOfFirst(members, names.slice(0, position));
    if (copy !== undefined) copy[name] = kept;
  }
  return copy ?? members;
}

function copyOfFirst(members: Members, names: readonly string[]): Members {
  const copy: Members = {};
  for (const name of names) copy[name] = members[name]!;
  return copy;
}
