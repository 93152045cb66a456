import type { JsonValue } from '@sealgate/json';

/** Members that never reach a ledger, a log, an event or a cache: by exact name, ASCII case aside, at any depth. */
const SENSITIVE_NAMES: ReadonlySet<string> = new Set([
  'password',
  'ssn',
  'social_security_number',
  'credit_card',
  'credit_card_number',
  'cvv',
]);

const LENGTHS: ReadonlySet<number> = new Set([...SENSITIVE_NAMES].map((name) => name.length));

/** ASCII letters alone fold: `ſsn` (long s) is not `ssn`, though Unicode case folding would say so. */
function isSensitive(name: string): boolean {
  if (!LENGTHS.has(name.length)) return false;
  return SENSITIVE_NAMES.has(name.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
}

export interface Stripped<Value extends JsonValue> {
  readonly value: Value;
  /** How many members were removed, not counting what was inside them. */
  readonly removed: number;
}

/** The value without sensitive members. A value that holds none is given back as it is, not copied. */
export function stripSensitive<Value extends JsonValue>(value: Value): Stripped<Value> {
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

function stripObject(members: { [member: string]: JsonValue }, counter: { removed: number }): JsonValue {
  let copy: { [member: string]: JsonValue } | undefined;
  for (const name of Object.keys(members)) {
    if (isSensitive(name)) {
      copy ??= { ...members };
      delete copy[name];
      counter.removed += 1;
      continue;
    }
    const item = members[name]!;
    const kept = strip(item, counter);
    if (kept !== item) (copy ??= { ...members })[name] = kept;
  }
  return copy ?? members;
}
