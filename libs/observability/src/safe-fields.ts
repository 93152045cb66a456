import { isSecretName, REDACTED, redactText } from './redact.ts';

/** Members of a log line beside its time, level, service and event. Never a body, a token or a key. */
export type LogFields = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;
const MAX_TEXT_LENGTH = 8192;

/** The members every line begins with. A field of the same name is printed with `_` behind it, so nothing is lost. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'service', 'event']);

/**
 * A copy of fields that `JSON.stringify` prints without a throw, an end or a secret.
 *
 * Depth, members and texts are bounded, circles end at the depth, what cannot be read becomes `[unreadable]`. Secrets are
 * replaced by name and by pattern (see `redact.ts`). Bytes become their count. An Error becomes its name, message, code,
 * stack and cause. A field named like a member that every line begins with gets `_` behind its name.
 */
export function safeFields(fields: LogFields): Readonly<Record<string, unknown>> {
  const safe = safeMembers(entriesOf(fields), 1);
  for (const name of RESERVED) {
    if (!Object.hasOwn(safe, name)) continue;
    safe[`${name}_`] = safe[name];
    delete safe[name];
  }
  return safe;
}

/** A text without secrets, and at most 8,192 UTF-16 units of it. */
export function safeText(text: string): string {
  return redactText(text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}...` : text);
}

/** `undefined` means: leave the member out, as JSON does for functions and undefined. */
function safeValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return safeText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'bigint':
      return String(value);
    case 'object':
      return value === null ? null : safeObject(value, depth);
    default:
      return undefined;
  }
}

function safeObject(value: object, depth: number): unknown {
  try {
    if (depth > MAX_DEPTH) return '[too deep]';
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Error) return safeMembers(membersOfError(value), depth);
    if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => safeValue(item, depth + 1));
    if (value instanceof Map || value instanceof Set) return `[${value.size} entries]`;
    return safeMembers(entriesOf(value), depth);
  } catch {
    return '[unreadable]';
  }
}

function safeMembers(entries: Iterable<readonly [string, unknown]>, depth: number): Record<string, unknown> {
  const members: (readonly [string, unknown])[] = [];
  for (const [name, value] of entries) {
    members.push([safeText(name), isSecretName(name) ? REDACTED : safeValue(value, depth + 1)]);
  }
  return Object.fromEntries(members);
}

function membersOfError(error: Error): (readonly [string, unknown])[] {
  const members: (readonly [string, unknown])[] = [
    ['name', error.name],
    ['message', error.message],
  ];
  if ('code' in error) members.push(['code', error.code]);
  members.push(['stack', error.stack]);
  if (error.cause !== undefined) members.push(['cause', error.cause]);
  return members;
}

/** The first members only: an object with a million of them must not become a line, nor an array on the way there. */
function* entriesOf(value: object): Generator<readonly [string, unknown]> {
  let count = 0;
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    if (count >= MAX_MEMBERS) return;
    count += 1;
    yield [name, readMember(value, name)];
  }
}

function readMember(value: object, name: string): unknown {
  try {
    return Reflect.get(value, name);
  } catch {
    return '[unreadable]';
  }
}
