import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppError } from '@sealgate/errors';
import type { RequestRecord } from '@sealgate/observability';

/** What authentication may look at: headers and addresses, never the body or the query. */
export interface AuthRequest {
  /** Every occurrence of the header, in order; empty when absent. `name` is lower case. */
  header(name: string): readonly string[];
  /** The peer of the socket: a proxy where there is one. */
  readonly socketAddress: string;
  /** The client, after the trusted proxies have been skipped. */
  readonly clientAddress: string;
  /** The path as it came, without the query. */
  readonly path: string;
  /** Present where the route reads its body before authentication; see `lookAhead` of a route. */
  readonly ahead?: LookedAhead | undefined;
}

/** What a body said before anybody knew who sent it. */
export interface LookedAhead {
  /**
   * What the route's `lookAhead` made of the body; undefined where the body has a fault, which is told later, or has not
   * been read yet, in which case the guard is asked again with it.
   */
  readonly value: unknown;
  /** Milliseconds since the epoch: when the last byte of the body had been read, or now where none has been. */
  readonly readAtMs: number;
}

/** The headers of draft-ietf-httpapi-ratelimit-headers, as `rateLimitHeaders` of the rate limits makes them. */
export interface RateLimitHeaders {
  readonly 'RateLimit-Policy': string;
  readonly RateLimit: string;
}

/** What a middleware of Express could be given: the request that is served, and its response. */
export interface HttpPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The outcome of a charge. */
export interface Admission {
  readonly admitted: boolean;
  readonly headers: RateLimitHeaders;
  /** Seconds until the same charge could be admitted; 0 when it was. */
  readonly retryAfterSeconds: number;
}

/** What the log line of a request may say besides what the library knows: who asked, and what came of it. */
export type RequestNotes = Partial<
  Omit<RequestRecord, 'method' | 'route' | 'status' | 'durationMs' | 'requestId' | 'traceId' | 'code'>
>;

/** How one surface knows its callers, what it lets them do, and what it counts against them. */
export interface Guard<Caller> {
  /** The scheme named by `WWW-Authenticate` on every 401. */
  readonly challenge: 'Bearer' | 'ApiKey';
  /**
   * Who asks. Throws AppError UNAUTHENTICATED (its detail is replaced, so that all failures look the same) or
   * UNAVAILABLE when the key store is out of reach.
   */
  authenticate(request: AuthRequest): Promise<Caller>;
  /**
   * Whether this is likely to be a live key: only then is a body looked at before authentication, so that strangers make
   * nobody parse anything. Pure: it does no I/O. Absent: every key is.
   */
  isExpected?(request: AuthRequest): boolean;
  /** Callers who were looked up moments ago, for routes that confirm their caller (`confirmsCaller`). */
  readonly lately?: {
    /**
     * Who asked with this credential when it was last looked up: a guess. The request goes on with it, and its effect
     * confirms it; whatever else comes of the request waits for a look-up. Pure: it does no I/O.
     */
    find(request: AuthRequest): Caller | undefined;
    /** Whether nothing that a request depends on has changed from the one to the other. */
    isUnchanged(before: Caller, now: Caller): boolean;
  };
  /** Whether the caller may do this. Pure: it does no I/O and charges nothing. */
  permits(caller: Caller, permission: string): boolean;
  /** Takes the cost from the caller's buckets, from all of them or from none. */
  charge(caller: Caller, cost: number, exchange: HttpPair): Promise<Admission>;
  /** The limit headers for an answer to a known caller that was never charged. */
  lastLimits?(caller: Caller): RateLimitHeaders | undefined;
  /** Called with every refusal of a known caller that nothing was charged for; may answer RATE_LIMITED in its place. */
  refused?(caller: Caller, error: AppError): AppError;
  /**
   * Called once per failed authentication, the only thing ever counted against an address. An error is answered in
   * place of the 401.
   */
  failedAuthentication?(request: AuthRequest, exchange: HttpPair): AppError | undefined | Promise<AppError | undefined>;
  /** What the log line of the request says about the caller: ids, never a secret. */
  describe?(caller: Caller): RequestNotes;
}
