import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';
import { inSpan, type RequestRecord } from '@sealgate/observability';
import type { Exchange } from './exchange.ts';
import { clientAddressOf, type RoutedRequest } from './paths.ts';
import type { PrefetchBody } from './route.ts';

/** The part of a request that authentication may use: headers and addresses, never body or query. */
export interface AuthRequest {
  /** All values of the header, in order; empty if absent. `name` is lower case. */
  header(name: string): readonly string[];
  /** The peer of the socket, which may be a proxy. */
  readonly socketAddress: string;
  /** The client address behind trusted proxies. */
  readonly clientAddress: string;
  /** The path as sent, without the query. */
  readonly path: string;
}

/** Headers of draft-ietf-httpapi-ratelimit-headers, from `rateLimitHeaders` of the rate limits. */
export interface RateLimitHeaders {
  readonly 'RateLimit-Policy': string;
  readonly RateLimit: string;
}

/** Request and response, for Express middleware such as a rate limiter. */
interface HttpPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The outcome of a charge. */
export interface Admission {
  readonly admitted: boolean;
  readonly headers: RateLimitHeaders;
  /** Seconds until the same charge could be admitted; 0 if it was. */
  readonly retryAfterSeconds: number;
}

/** Additional fields of the log line of a request. */
export type RequestNotes = Partial<
  Omit<RequestRecord, 'method' | 'route' | 'status' | 'durationMs' | 'requestId' | 'traceId' | 'code'>
>;

/** Authentication, permissions and rate limits of one surface. */
export interface Guard<Caller> {
  /** The scheme of `WWW-Authenticate` on every 401. */
  readonly challenge: 'Bearer' | 'ApiKey';
  /**
   * Authenticates the caller. Throws AppError UNAUTHENTICATED (its detail is replaced, so that all failures look alike)
   * or UNAVAILABLE when the key store is unreachable.
   */
  authenticate(request: AuthRequest): Promise<Caller>;
  /**
   * Whether the key is likely to be live. A route with `prefetch` parses a body before authentication only then, so that
   * clients without a key cannot make the server parse anything. Pure, no I/O. Absent: every key is.
   */
  isExpected?(request: AuthRequest): boolean;
  /** Recently looked-up callers, for routes with `confirmsCaller`. */
  readonly lately?: {
    /**
     * The caller of this credential at its last look-up, used provisionally: the effect confirms it, and any other
     * outcome waits for a look-up. Pure: no I/O.
     */
    find(request: AuthRequest): Caller | undefined;
    /** Whether everything a request depends on is the same in both. */
    isUnchanged(before: Caller, now: Caller): boolean;
  };
  /** Whether the caller has the permission. Pure: no I/O, no charge. */
  permits(caller: Caller, permission: string): boolean;
  /** Takes the cost from all of the caller's buckets, or from none. */
  charge(caller: Caller, cost: number, exchange: HttpPair): Promise<Admission>;
  /** Limit headers for a known caller that was not charged. */
  lastLimits?(caller: Caller): RateLimitHeaders | undefined;
  /** Called with every uncharged refusal of a known caller; may return RATE_LIMITED in its place. */
  refused?(caller: Caller, error: AppError): AppError;
  /**
   * Called once per failed authentication, the only event counted against an address. A returned error replaces the
   * 401.
   */
  failedAuthentication?(request: AuthRequest, exchange: HttpPair): AppError | undefined | Promise<AppError | undefined>;
  /** Fields about the caller for the log line: ids, never a secret. */
  describe?(caller: Caller): RequestNotes;
}

/** The part of a request that authentication sees. */
export class RequestView implements AuthRequest {
  readonly #request: RoutedRequest;

  constructor(request: RoutedRequest) {
    this.#request = request;
  }

  header(name: string): readonly string[] {
    return headerValues(this.#request.rawHeaders, name);
  }

  get socketAddress(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get path(): string {
    return this.#request.path;
  }

  get clientAddress(): string {
    return clientAddressOf(this.#request) ?? this.socketAddress;
  }
}

const NONE: readonly string[] = [];

/**
 * All values of one header, in order, from `rawHeaders`. `request.headers` keeps only the first value of some headers.
 * `name` is lower case.
 */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] ?? '';
    if (candidate.length !== name.length) continue;
    if (candidate !== name && candidate.toLowerCase() !== name) continue;
    const value = rawHeaders[i + 1] ?? '';
    if (values === undefined) values = [value];
    else values.push(value);
  }
  return values ?? NONE;
}

/** The caller changed since the last look-up: the request is served again with the current caller. */
export class CallerChangedError extends Error {
  override readonly name = 'CallerChangedError';
}

/**
 * Authenticates the request: by `prefetch` of the route if there is a body to pass to it, else by the guard.
 * @throws AppError UNAUTHENTICATED, or any other error of the look-up.
 */
export async function authenticate(exchange: Exchange, body?: PrefetchBody): Promise<void> {
  const { guard, view } = exchange;
  const prefetch = exchange.mounted?.route.prefetch;
  try {
    if (isSentTwice(exchange)) throw new AppError('UNAUTHENTICATED', 'A credential was sent twice.');
    if (prefetch === undefined || body === undefined) {
      exchange.caller = await inSpan({ name: 'authenticate' }, () => guard.authenticate(view));
    } else {
      const found = await inSpan({ name: 'authenticate' }, () => prefetch(view, body));
      exchange.caller = found.caller;
      exchange.prefetched = found.prefetched;
    }
    exchange.isKnownCaller = true;
  } catch (error) {
    exchange.isKnownCaller = false;
    exchange.limits = undefined;
    if (!(error instanceof AppError) || error.code !== 'UNAUTHENTICATED') throw error;
    // There is no caller to log, so log the address.
    exchange.note({ clientAddress: exchange.clientAddress });
    const limited = await guard.failedAuthentication?.(exchange.view, exchange);
    // The cause is not sent, so that answers do not help to guess keys.
    throw limited ?? new AppError('UNAUTHENTICATED', 'A valid key is required.', { cause: error });
  }
}

/** Uses a recently looked-up caller provisionally. Returns false, and does nothing, if there is none. */
export function recall(exchange: Exchange): boolean {
  const { guard } = exchange;
  const caller = guard.lately === undefined || isSentTwice(exchange) ? undefined : guard.lately.find(exchange.view);
  if (caller === undefined) return false;
  exchange.caller = caller;
  exchange.isKnownCaller = true;
  exchange.isProvisional = true;
  return true;
}

/**
 * Looks up a provisional caller.
 * @returns whether the caller is unchanged.
 * @throws what `authenticate` throws.
 */
export async function lookUp(exchange: Exchange): Promise<boolean> {
  const before = exchange.caller;
  exchange.isProvisional = false;
  await authenticate(exchange);
  return exchange.guard.lately?.isUnchanged(before, exchange.caller) === true;
}

function isSentTwice({ request: { rawHeaders } }: Exchange): boolean {
  return headerValues(rawHeaders, 'authorization').length > 1 || headerValues(rawHeaders, 'x-api-key').length > 1;
}
