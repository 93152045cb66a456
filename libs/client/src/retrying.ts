/** When to retry. Times are in milliseconds. */
export interface RetryPolicy {
  /** Maximum attempts, including the first. Default 5. */
  readonly attempts?: number;
  /** Timeout of one attempt until its headers arrive. Default 35,000: surfaces answer within 30 s. */
  readonly attemptMs?: number;
  /** Timeout of a call with all attempts and waits. Default 90,000. */
  readonly totalMs?: number;
  /**
   * The wait before the second attempt is random below this; the bound doubles with each attempt up to 5 s. Default
   * 200.
   */
  readonly backoffMs?: number;
  /** Milliseconds of a monotonic clock. Default: `performance.now`. */
  readonly now?: () => number;
  /** A random number from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
  /** Resolves after the wait; rejects with the signal's reason when it aborts. Default: a timer. */
  readonly sleep?: (waitMs: number, signal: AbortSignal) => Promise<void>;
}

/**
 * No answer after all attempts. The outcome of a change is unknown: retry with the same key, which is safe and returns
 * the outcome.
 */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly attempts: number;
  /** The key of all attempts; absent if the route takes none. */
  readonly idempotencyKey: string | undefined;

  constructor(request: Request, attempts: number, cause: unknown) {
    super(`No answer to ${request.method} ${new URL(request.url).pathname} after ${attempts} attempt(s).`, { cause });
    this.attempts = attempts;
    this.idempotencyKey = request.headers.get(KEY_HEADER) ?? undefined;
  }
}

export const KEY_HEADER = 'Idempotency-Key';

const MAX_BACKOFF_MS = 5_000;
/** Statuses of proxies, and of a surface while a dependency is unavailable. */
const UNAVAILABLE_STATUSES = [502, 503, 504];

/**
 * `fetch` with retries. A 429 was not processed, so every request waits for its Retry-After; anything else is retried
 * only if `isRepeatable`. Returns the last answer when it gives up. Throws NoAnswerError if there was none, and the
 * reason of the caller's signal at once.
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
      const backoff = random() * Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** (attempt - 1));
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

/** One attempt: its answer, or the error. The request and its body stay usable for the next attempt. */
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

/** Wait before the next attempt; undefined for no retry. */
function waitAfter(
  outcome: Response | { cause: unknown },
  isRepeatable: boolean,
  backoffMs: number,
): number | undefined {
  if (!(outcome instanceof Response)) return isRepeatable ? backoffMs : undefined;
  const { status } = outcome;
  const retryAfterMs = retryAfterOf(outcome);
  // A 409 with Retry-After is a request with the same key in progress (IDEMPOTENCY_IN_PROGRESS); other conflicts have
  // none.
  const isTemporary =
    UNAVAILABLE_STATUSES.includes(status) || status === 408 || (status === 409 && retryAfterMs !== undefined);
  if (status !== 429 && !(isRepeatable && isTemporary)) return undefined;
  return Math.max(retryAfterMs ?? 0, backoffMs);
}

/** Retry-After in milliseconds from now; a number of seconds or a date (RFC 9110 section 10.2.3). */
function retryAfterOf(response: Response): number | undefined {
  const value = response.headers.get('retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  // Both dates are the server's, so that a wrong local clock does not matter.
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
