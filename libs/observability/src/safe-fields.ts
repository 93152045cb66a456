/** Fields of a log line besides time, level, service and event. Never a body, a token or a key. */
export type LogFields = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 6;
const MAX_MEMBERS = 100;
const MAX_TEXT_LENGTH = 8192;

/** The members at the start of every line. A field with such a name gets a `_` suffix, so nothing is lost. */
const RESERVED: ReadonlySet<string> = new Set(['time', 'level', 'service', 'event']);

/**
 * A copy of fields that `JSON.stringify` can print without throwing, unbounded output or secrets.
 *
 * Depth, members and texts are bounded; cycles end at the depth limit; unreadable values become `[unreadable]`. Secrets
 * are redacted by name and by pattern. Bytes become their count. An Error becomes its name, message,
 * code, stack and cause. A field named like a standard member gets a `_` suffix.
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

/** A redacted text, cut to 8,192 UTF-16 units. */
export function safeText(text: string): string {
  return redactText(text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}...` : text);
}

/** `undefined` omits the member, as JSON does for functions and undefined. */
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

/** Limited to the first members, without materializing the rest of a huge object. */
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

/** Replacement of a secret. */
const REDACTED = '[redacted]';

/** Minimum length of a text that can contain one of our keys: `gk_` and 43 characters. Shorter texts need no search. */
export const SHORTEST_KEY_LENGTH = 46;

/** Names are compared in lower case without `-`, `_`, spaces and dots. A name with one of these endings is a secret. */
const SECRET_ENDINGS: readonly string[] = [
  'authorization',
  'apikey',
  'apikeys',
  'cookie',
  'cookies',
  'password',
  'passwd',
  'passphrase',
  'token',
  'tokens',
  'rawkey',
  'secret',
  'secrets',
  'privatekey',
  'signingkey',
  'idempotencykey',
  'credential',
  'credentials',
  'databaseurl',
  'redisurl',
  // The ingest gateway strips these from payloads, so they do not belong in a log.
  'ssn',
  'socialsecuritynumber',
  'creditcard',
  'creditcardnumber',
  'cvv',
];

const OWN_KEY = /(svc_|gk_|ingest_)[A-Za-z0-9_-]{43}/g;
/** Not after a slash: a contract is often called `basic`, and logged as `channel/basic`. */
const CREDENTIALS = /(?<![\w/])(bearer|basic|apikey)\s+[^\s"',;]+/gi;
const URL_USER = /\b([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@"']{1,512}@/gi;

/** Cached results by name. Field names are ours, so there are few; the bound guards against others. */
const verdicts = new Map<string, boolean>();
const MAX_VERDICTS = 1000;

/**
 * Whether a field is a secret by its name, ignoring case and separators: `authorization`, `X-Api-Key`, `set-cookie`,
 * `rawKey`, `admin_token`, `Idempotency-Key`, `DATABASE_URL` and the like.
 */
export function isSecretName(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const plain = name.toLowerCase().replace(/[-_.\s]/g, '');
  const secret = SECRET_ENDINGS.some((ending) => plain.endsWith(ending));
  if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
  verdicts.set(name, secret);
  return secret;
}

/**
 * Redacts anything that looks like one of our keys (`svc_`, `gk_` or `ingest_` and 43 url-safe base64 characters)
 * anywhere in a text. The prefix is kept, since it identifies the surface.
 */
export function redactKeys(text: string): string {
  return text.length < SHORTEST_KEY_LENGTH ? text : text.replace(OWN_KEY, `$1${REDACTED}`);
}

/**
 * Redacts everything that looks like a secret: our keys, credentials after `Bearer`, `Basic` or `ApiKey`, and the user
 * part of a URL. For error messages, which may contain them.
 */
export function redactText(text: string): string {
  return redactKeys(text).replace(CREDENTIALS, `$1 ${REDACTED}`).replace(URL_USER, `$1${REDACTED}@`);
}
