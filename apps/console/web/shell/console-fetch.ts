import { problemFrom, unreached } from './problem.ts';

/** Announced on `window` when an answer says that nobody is signed in. */
export const SIGNED_OUT = 'sealgate:signed-out';

const READING = ['GET', 'HEAD'];
const TIMEOUT_MS = 30_000;

/**
 * `fetch` as every page uses it, and as the clients of `@sealgate/client` are given it: changes carry the header that
 * the console's server asks for, a 401 of the server announces that the session has ended, and no answer within
 * 30 s is a problem of its own.
 * Throws ProblemError (status 0) where no answer came; answers of any status are returned.
 */
export async function consoleFetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const changes = !READING.includes(request.method);
  if (changes) request.headers.set('X-Sealgate-Console', '1');
  let response: Response;
  try {
    response = await fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)]) });
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw unreached(error, changes);
  }
  // The console's own 401 has the challenge. One that a surface sent means that somebody is nobody there, signed in or not.
  if (response.status === 401 && response.headers.has('WWW-Authenticate') && !request.headers.has('X-Api-Key'))
    globalThis.dispatchEvent(new Event(SIGNED_OUT));
  return response;
}

/**
 * The JSON of an answer of the console's own server, or of a path that no generated client has.
 * Throws ProblemError for every status but 2xx.
 */
export async function getJson<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await consoleFetch(path, init);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw problemFrom(response, body, Date.now());
  return body as T;
}

/** Posts JSON; see `getJson`. */
export const sendJson = <T>(path: string, body: unknown, method = 'POST'): Promise<T> =>
  getJson<T>(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/** What the calls of a generated client answer. */
interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The data of a generated client's answer. Throws ProblemError where it has none. */
export async function dataOf<T>(call: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (!response.ok || error !== undefined) throw problemFrom(response, error, Date.now());
  return (data ?? {}) as NonNullable<T>;
}
