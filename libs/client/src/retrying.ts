/** When a refused or unanswered request is sent again. Times are in milliseconds. */
export interface RetryPolicy {
  /** How often a request is sent at most, the first time included. Default 5. */
  readonly attempts?: number;
  /** How long one attempt may take until its headers are there. Default 35,000: the surfaces answer within 30 s. */
  readonly attemptMs?: number;
  /** How long a call may take with all its attempts and the waits between them. Default 90,000. */
  readonly totalMs?: number;
  /** The wait before the second attempt is random below this, and doubles with each one up to 5 s. Default 200. */
  readonly backoffMs?: number;
  /** Milliseconds that never go back. Default: `performance.now`. */
  readonly now?: () => number;
  /** From 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
  /** Resolves after so long, rejects with its reason when the signal aborts. Default: a timer. */
  readonly sleep?: (waitMs: number, signal: AbortSignal) => Promise<void>;
}

/**
 * No answer came, after every attempt. What became of a change is not known: sending it again with the same key does no
 * harm, and tells.
 */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly attempts: number;
  /** The key that every attempt carried; absent where the route takes none. */
  readonly idempotencyKey: string | undefined;

  constructor(request: Request, attempts: number, cause: unknown) {
    super(`No answer to ${request.method} ${new URL(request.url).pathname} after ${attempts} attempt(s).`, { cause });
    this.attempts = attempts;
    this.idempotencyKey = request.headers.get(KEY_HEADER) ?? undefined;
  }
}

export const KEY_HEADER = 'Idempotency-Key';

const LONGEST_BACKOFF_MS = 5_000;
/** What proxies answer in place of a surface, and what a surface answers while a dependency is away. */
const AWAY = [502, 503, 504];

/**
 * `fetch` that sends again what was refused for a while or not answered. A 429 was not begun, so every request waits for
 * its Retry-After; all else is sent again only where `isRepeatable` says that twice is the same as once. Returns the last
 * answer when it gives up. Throws NoAnswerError where there was none, and the reason of the caller's signal at once.
 */
export function retryingFetch(
  send: (request: Request) => Promise<Response>,
  isRepeatable: (request: Request) => boolean,
  policy: RetryPolicy = {},
): (request: Request) => Promise<Response> {
  const { attempts = 5, attemptMs = 35_000, totalMs = 90_000, backoffMs = 200 } = policy;
  const { now = () => performance.now(), random = Math.random, sleep = sleepFor } = policy;
  return async (request) => {
    const giveUpAt = now() + totalMs;
    for (let attempt = 1; ; attempt += 1) {
      const leftMs = giveUpAt - now();
      const outcome = await once(send, request, Math.max(1, Math.min(attemptMs, leftMs)));
      request.signal.throwIfAborted();
      const isLast = attempt >= attempts;
      const backoff = random() * Math.min(LONGEST_BACKOFF_MS, backoffMs * 2 ** (attempt - 1));
      const waitMs = isLast ? undefined : waitAfter(outcome, isRepeatable(request), backoff);
      if (waitMs === undefined || now() + waitMs >= giveUpAt) {
        if (outcome instanceof Response) return outcome;
        throw new NoAnswerError(request, attempt, outcome.cause);
      }
      if (outcome instanceof Response) await outcome.body?.cancel();
      await sleep(waitMs, request.signal);
    }
  };
}

/** One attempt: its answer, or why there is none. The request stays as it is, with its body, for the next one. */
async function once(
  send: (request: Request) => Promise<Response>,
  request: Request,
  timeoutMs: number,
): Promise<Response | { readonly cause: unknown }> {
  const timeout = new AbortController();
  const timer = setTimeout(
    () => timeout.abort(new DOMException('The attempt took too long.', 'TimeoutError')),
    timeoutMs,
  );
  try {
    return await send(new Request(request.clone(), { signal: AbortSignal.any([request.signal, timeout.signal]) }));
  } catch (cause) {
    return { cause };
  } finally {
    clearTimeout(timer);
  }
}

/** How long to wait before the next attempt; undefined where there must be none. */
function waitAfter(
  outcome: Response | { cause: unknown },
  isRepeatable: boolean,
  backoffMs: number,
): number | undefined {
  if (!(outcome instanceof Response)) return isRepeatable ? backoffMs : undefined;
  const { status } = outcome;
  const retryAfterMs = retryAfterOf(outcome);
  // A conflict with a request of the same key that is still under way (IDEMPOTENCY_IN_PROGRESS) names a time; no other does.
  const isPassing = AWAY.includes(status) || status === 408 || (status === 409 && retryAfterMs !== undefined);
  if (status !== 429 && !(isRepeatable && isPassing)) return undefined;
  return Math.max(retryAfterMs ?? 0, backoffMs);
}

/** The Retry-After of an answer, a number of seconds or a date (RFC 9110, section 10.2.3), in milliseconds from now. */
function retryAfterOf(response: Response): number | undefined {
  const value = response.headers.get('retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  // Both dates are of the one who answers, so that a wrong clock here does no harm.
  const waitMs = Date.parse(value) - Date.parse(response.headers.get('date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

function sleepFor(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, waitMs);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
