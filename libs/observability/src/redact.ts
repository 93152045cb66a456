/** What stands where a secret stood. */
export const REDACTED = '[redacted]';

/** The shortest text that can hold one of our keys: `gk_` and 43 characters. Shorter texts need no search. */
export const SHORTEST_KEY_LENGTH = 46;

/** Names are compared in lower case without `-`, `_`, spaces and dots, and a name that ends in one of these is a secret. */
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
  // What the ingest gateway strips from payloads has no business in a log either.
  'ssn',
  'socialsecuritynumber',
  'creditcard',
  'creditcardnumber',
  'cvv',
];

const OWN_KEY = /(svc_|gk_|ingest_)[A-Za-z0-9_-]{43}/g;
const CREDENTIALS = /\b(bearer|basic|apikey)\s+[^\s"',;]+/gi;
const URL_USER = /\b([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@"']{1,512}@/gi;

/** Verdicts on names already met. Field names are written by us, so there are few; the bound guards against the rest. */
const verdicts = new Map<string, boolean>();
const MAX_VERDICTS = 1000;

/**
 * Tells whether a field holds a secret by what it is called, whatever its case and separators:
 * `authorization`, `X-Api-Key`, `set-cookie`, `rawKey`, `admin_token`, `Idempotency-Key`, `DATABASE_URL` and their like.
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
 * Replaces whatever looks like one of our keys (`svc_`, `gk_` or `ingest_` and 43 url-safe base64 characters) anywhere
 * in a text. Its prefix stays, since it tells which surface the key was for.
 */
export function redactKeys(text: string): string {
  return text.length < SHORTEST_KEY_LENGTH ? text : text.replace(OWN_KEY, `$1${REDACTED}`);
}

/**
 * Replaces everything in a text that looks like a secret: our keys, what follows `Bearer`, `Basic` or `ApiKey`, and the
 * user part of a URL. Meant for messages of errors, where such things turn up uninvited.
 */
export function redactText(text: string): string {
  return redactKeys(text).replace(CREDENTIALS, `$1 ${REDACTED}`).replace(URL_USER, `$1${REDACTED}@`);
}
