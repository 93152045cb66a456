import { unreached } from './problem.ts';

/** Event on `window` for a 401 of the console: the session has ended. */
export const SIGNED_OUT = 'sealgate:signed-out';

const READING = ['GET', 'HEAD'];
const TIMEOUT_MS = 30_000;

/**
 * `fetch` for all pages (`api.ts`; and proofs, whose bytes are read as they are): sets the header that the console's server requires
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
