import type { JsonValue } from '@sealgate/json';
import { errorCode, UnreachableError, UsageError } from './errors.ts';
import type { Connection } from './find-connection.ts';
import { isObject, type JsonObject, parseJson } from './json-object.ts';
import { Refusal } from './refusal.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/admin/v1`; values in it are each a `segment`. */
  readonly path: string;
  /** Undefined parameters are omitted. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: JsonValue;
}

/** A JSON response: as received, for `--json`, and as an object, for people. */
export interface JsonAnswer {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * One admin API. Each call is one request, without retries, with a timeout. @throws Refusal for a problem document,
 * UnreachableError without a usable response.
 */
export interface AdminApi {
  json(call: Call): Promise<JsonAnswer>;
  /** A plain text response, or an empty one. */
  text(call: Call): Promise<string>;
  /** A plain text response of any length, as it arrives: each part within the timeout. */
  parts(call: Call): AsyncIterable<string>;
}

export function adminApi(connection: Connection, timeoutMs: number): AdminApi {
  const send = (call: Call): Promise<string> => request(connection, call, timeoutMs);
  return {
    json: async (call) => {
      const text = await send(call);
      const value = parseJson(text);
      if (!isObject(value)) throw notAnAdminApi(connection, call, 'Its response is not a JSON object.');
      return { text, value };
    },
    text: send,
    parts: (call) => partsOf(connection, call, timeoutMs),
  };
}

async function request(connection: Connection, call: Call, timeoutMs: number): Promise<string> {
  const { response, body } = await exchange(connection, call, timeoutMs);
  if (response.ok) return body;
  throw refused(connection, call, { response, body });
}

function refused(connection: Connection, call: Call, { response, body }: Exchanged): Error {
  const { status, headers } = response;
  const problem = parseJson(body);
  if (isObject(problem) && typeof problem['code'] === 'string') return new Refusal(problem, { status, headers, body });
  return notAnAdminApi(connection, call, `It responded with ${status} without a problem document.`);
}

async function* partsOf(connection: Connection, call: Call, timeoutMs: number): AsyncGenerator<string> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new DOMException('No answer.', 'TimeoutError')), timeoutMs);
  try {
    const response = await fetch(urlOf(connection, call), { ...termsOf(connection, call), signal: silence.signal });
    if (!response.ok) throw refused(connection, call, { response, body: await readAnswer(response) });
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    for await (const part of response.body ?? []) {
      timer.refresh();
      yield decoder.decode(part, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw unreachable(error, { url: connection.url, timeoutMs, changes: false });
  } finally {
    clearTimeout(timer);
  }
}

function termsOf({ token }: Connection, { method, body }: Call): RequestInit {
  return {
    method,
    headers: {
      Accept: 'application/json, application/problem+json, text/plain',
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    // The token must not go to a redirect target, so the redirect itself is the response.
    redirect: 'manual',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

async function exchange(connection: Connection, call: Call, timeoutMs: number): Promise<Exchanged> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(urlOf(connection, call), { ...termsOf(connection, call), signal });
    return { response, body: await readAnswer(response) };
  } catch (error) {
    throw unreachable(error, { url: connection.url, timeoutMs, changes: changes(call) });
  }
}

interface Exchanged {
  readonly response: Response;
  readonly body: string;
}

function urlOf({ url }: Connection, { path, query = {} }: Call): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  return `${url}/admin/v1${path}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

function notAnAdminApi({ url }: Connection, call: Call, why: string): UnreachableError {
  return unusable(`The server at ${url} is not an admin API. ${why}`, changes(call));
}

function changes({ method }: Call): boolean {
  return method !== 'GET';
}

/**
 * A value as one segment of a path. @throws UsageError for one that cannot be a segment: URLs drop `.` and `..`, encoded
 * or not, so the request would go to another path.
 */
export function segment(value: string): string {
  if (value === '') throw new UsageError('An id or name is empty.');
  if (value === '.' || value === '..') throw new UsageError(`"${value}" cannot be used as an id or name.`);
  if (!value.isWellFormed()) throw new UsageError('An id or name is not well-formed Unicode.');
  return encodeURIComponent(value);
}

/** Far above the largest page of an admin API. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** The body as text. @throws UnreachableError if it is larger than any response of an admin API, or not UTF-8. */
export async function readAnswer(response: Response): Promise<string> {
  const bytes = await boundedBody(response, ANSWER_MAX_BYTES);
  if (bytes === undefined) throw new UnreachableError('The response is larger than any of an admin API.');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnreachableError('The response is not UTF-8 text, so it is not from an admin API.');
  }
}

/** The body; undefined if it is larger. */
export async function boundedBody(response: Response, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Errors after which nothing can have been sent. */
const NOT_SENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the host name cannot be resolved',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (set NODE_EXTRA_CA_CERTS to a file of trusted ones)',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate is not of a known issuer (set NODE_EXTRA_CA_CERTS to a file of trusted ones)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is not of a known issuer (set NODE_EXTRA_CA_CERTS to a file of trusted ones)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

const UNKNOWN_OUTCOME = 'It is unknown whether the change was applied: check before repeating it.';

export interface Attempt {
  readonly url: string;
  readonly timeoutMs: number;
  /** Whether the request was a change. */
  readonly changes: boolean;
}

/** Explains why `fetch` or reading the response failed and, for a change, that its outcome is unknown. */
export function unreachable(error: unknown, { url, timeoutMs, changes }: Attempt): UnreachableError {
  if (error instanceof UnreachableError) return unusable(error.message, changes);
  const reason = reasonOf(error);
  const notSent = NOT_SENT[reason];
  if (notSent !== undefined) return new UnreachableError(`${url} cannot be reached: ${notSent}.`, { cause: error });
  const why =
    reason === 'TimeoutError'
      ? `${url} did not answer within ${timeoutMs / 1_000} s.`
      : `The connection to ${url} failed (${reason}).`;
  return unusable(why, changes, error);
}

/** There is no usable response; for a change the message says that it may have been applied. */
export function unusable(why: string, changes: boolean, cause?: unknown): UnreachableError {
  return new UnreachableError(changes ? `${why} ${UNKNOWN_OUTCOME}` : why, { cause });
}

/**
 * `fetch` throws one TypeError for everything: the reason is the code, name or message of the innermost cause. After
 * several addresses, the code is that of the first.
 */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const code = errorCode(error);
  if (code !== undefined) return code;
  if ('cause' in error && error.cause !== undefined) return reasonOf(error.cause);
  if ('name' in error && error.name === 'TimeoutError') return error.name;
  return 'message' in error ? String(error.message) : String(error);
}
