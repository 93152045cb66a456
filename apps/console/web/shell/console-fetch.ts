import { problemFrom, unreached } from './problem.ts';

/** Event on `window` for a 401 of the console: the session has ended. */
export const SIGNED_OUT = 'sealgate:signed-out';

const READING = ['GET', 'HEAD'];
const TIMEOUT_MS = 30_000;

/**
 * `fetch` for all pages and for the clients of `@sealgate/client`: sets the header that the console's server requires
 * for changes, announces the end of the session on the server's 401, and times out after 30 s.
 * Throws ProblemError (status 0) without a response; responses of any status are returned.
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
  // Only the console's own 401 has this challenge. A 401 of a surface means that the person has no access there.
  if (response.status === 401 && response.headers.has('WWW-Authenticate') && !request.headers.has('X-Api-Key'))
    globalThis.dispatchEvent(new Event(SIGNED_OUT));
  return response;
}

/**
 * Fetches JSON from the console's server, or from a path without a generated client.
 * Throws ProblemError unless the status is 2xx.
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

/** The result type of generated clients. */
interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The data of a generated client's result. Throws ProblemError if there is none. */
export async function dataOf<T>(call: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call;
  if (!response.ok || error !== undefined) throw problemFrom(response, error, Date.now());
  return (data ?? {}) as NonNullable<T>;
}
