import type { Fault } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';

type Members = { [member: string]: JsonValue };

/** One record as it was sent, before stripping and naming. */
export interface SubmittedRecord {
  readonly id: string | undefined;
  readonly type: string;
  readonly owner: string | null;
  readonly data: Members;
  /** What stood beside `data`; null where nothing did. */
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
/** What no path can name. */
export const DOT_SEGMENTS: ReadonlySet<string> = new Set(['.', '..']);
// eslint-disable-next-line no-control-regex -- the control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

export function isObject(value: JsonValue): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Reads one record at `pointer`; faults are added to the list and the record is then not to be used. */
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

/** The members that mean nothing to us; the object itself where all do, because a large one costs to copy. */
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
      faults.push({ in: 'body', pointer: `${at}/${position}`, detail: 'The channel stands in this list already.' });
    } else names.push(name);
  }
  return names;
}
