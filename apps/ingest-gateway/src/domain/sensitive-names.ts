import type { JsonValue } from '@sealgate/json';

/** Members never stored or logged: by exact name, ASCII case-insensitive, at any depth. */
const SENSITIVE_NAMES: ReadonlySet<string> = new Set([
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

export interface Stripped<Value extends JsonValue> {
  readonly value: Value;
  /** Number of members removed, not counting what was inside them. */
  readonly removed: number;
}

/** The value without sensitive members. A value without any is returned itself, not copied. */
export function stripSensitive<Value extends JsonValue>(value: Value): Stripped<Value> {
  const counter = { removed: 0 };
  const kept = strip(value, counter) as Value;
  return { value: kept, removed: counter.removed };
}

function strip(value: JsonValue, counter: { removed: number }): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  return Array.isArray(value) ? stripArray(value, counter) : stripObject(value, counter);
}

type Members = { [member: string]: JsonValue };

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
