import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppError } from '@sealgate/errors';
import type { RequestRecord } from '@sealgate/observability';

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
  /** Adds fields to the log line of the request: why a credential was refused. */
  note(notes: RequestNotes): void;
}

/** Headers of draft-ietf-httpapi-ratelimit-headers, from `rateLimitHeaders` of the rate limits. */
export interface RateLimitHeaders {
  readonly 'RateLimit-Policy': string;
  readonly RateLimit: string;
}

/** Request and response, for the middleware that counts failed authentications. */
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
  /** URL of the protected resource metadata of a path, named in its 401 (RFC 9728 section 5.1). */
  resourceMetadata?(path: string): string | undefined;
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
  charge(caller: Caller, cost: number): Promise<Admission>;
  /** Limit headers for a known caller that was not charged. */
  lastLimits?(caller: Caller): RateLimitHeaders | undefined;
  /** Called with every uncharged refusal of a known caller; may return RATE_LIMITED in its place. */
  refused?(caller: Caller, error: AppError): AppError;
  /**
   * Called once per failed authentication, the only event counted against an address. A returned error replaces the
   * 401.
   */
  failedAuthentication?(request: AuthRequest, exchange: HttpPair): AppError | undefined | Promise<AppError | undefined>;
  /**
   * Whose places a request that looks takes: a key, a person, an address. Required if a route that is not open looks.
   */
  shareOf?(caller: Caller): string;
  /** Fields about the caller for the log line: ids, never a secret. */
  describe?(caller: Caller): RequestNotes;
}

/** The caller changed since the last look-up: the request is served again with the current caller. */
export class CallerChangedError extends Error {
  override readonly name = 'CallerChangedError';
}
