import { isSecretName, REDACTED, redactText } from './redact.ts';

/** Members of a log line beside its time, level, service and event. Never a body, a token or a key. */
export type LogFields = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;
const MAX_TEXT_LENGTH = 8192;

/** The members every line begins with. A field of the same name is printed with `_` behind it, so nothing is lost. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'service', 'event']);

/**
 * Renders fields as the tail of a JSON object: `,"a":1,"b":"x"`, or the empty string.
 *
 * It cannot throw and cannot run away: depth, members and texts are bounded, circles end at the depth, what cannot be
 * read prints as `[unreadable]`. Secrets are replaced by name and by pattern (see `redact.ts`). Bytes print as their
 * count. An Error prints its name, message, code, stack and cause.
 */
export function renderFields(fields: LogFields): string {
  let text = '';
  for (const [name, value] of entriesOf(fields)) {
    const rendered = isSecretName(name) ? JSON.stringify(REDACTED) : renderValue(value, 1);
    if (rendered === undefined) continue;
    text += `,${renderText(RESERVED.has(name) ? `${name}_` : name)}:${rendered}`;
  }
  return text;
}

/** Renders one text as a JSON string, without secrets and with at most 8,192 UTF-16 units of it. */
export function renderText(text: string): string {
  const bounded = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}...` : text;
  return JSON.stringify(redactText(bounded));
}

/** `undefined` means: leave the member out, as JSON does for functions and undefined. */
function renderValue(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return renderText(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : JSON.stringify(String(value));
    case 'boolean':
      return String(value);
    case 'bigint':
      return JSON.stringify(String(value));
    case 'object':
      return value === null ? 'null' : renderObject(value, depth);
    default:
      return undefined;
  }
}

function renderObject(value: object, depth: number): string {
  try {
    if (depth > MAX_DEPTH) return '"[too deep]"';
    if (value instanceof Date) return renderDate(value);
    if (ArrayBuffer.isView(value)) return `"[${value.byteLength} bytes]"`;
    if (value instanceof Error) return renderMembers(membersOfError(value), depth);
    if (Array.isArray(value)) return renderList(value, depth);
    if (value instanceof Map || value instanceof Set) return `"[${value.size} entries]"`;
    return renderMembers(entriesOf(value), depth);
  } catch {
    return '"[unreadable]"';
  }
}

function renderDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? '"Invalid Date"' : `"${date.toISOString()}"`;
}

function renderList(values: readonly unknown[], depth: number): string {
  const items = values.slice(0, MAX_MEMBERS).map((item) => renderValue(item, depth + 1) ?? 'null');
  return `[${items.join(',')}]`;
}

function renderMembers(entries: Iterable<readonly [string, unknown]>, depth: number): string {
  const members: string[] = [];
  for (const [name, value] of entries) {
    const rendered = isSecretName(name) ? JSON.stringify(REDACTED) : renderValue(value, depth + 1);
    if (rendered !== undefined) members.push(`${renderText(name)}:${rendered}`);
  }
  return `{${members.join(',')}}`;
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
