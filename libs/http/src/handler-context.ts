import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestNotes } from './guard.ts';

type ParamNames<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : Path extends `:${infer Name}` | `*${infer Name}`
    ? Name
    : never;

/** The parameters of a path: `PathParams<'/v1/cases/:caseId'>` is `{ readonly caseId: string }`. They are decoded. */
export type PathParams<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Name in ParamNames<Path>]: string };

/**
 * The methods below live on a prototype, so that a request costs no closures: call them on the context
 * (`context.charge(1)`), never destructured. The type of their receiver makes that mistake a type error.
 */
type Receiver = { readonly requestId: string };

/** One request, as its handler sees it. */
export interface HandlerContext<Caller, Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The bytes of the body after Content-Encoding was undone: what fingerprints are made from. Empty without a body. */
  readonly rawBody: Buffer;
  readonly caller: Caller;
  /** The values of Idempotency-Key as they came, for `parseIdempotencyKey`. */
  readonly idempotency: { readonly keys: readonly string[] };
  readonly requestId: string;
  /** A W3C traceparent: the caller's, or one made for this request. Pass it on to whatever is called. */
  readonly traceparent: string;
  /** The W3C tracestate that belongs to it. */
  readonly tracestate?: string | undefined;
  /** Aborted when the client goes away before it was answered. */
  readonly signal: AbortSignal;
  readonly method: string;
  /** The path as it was sent, without the query. */
  readonly path: string;
  /** False for a call of a tool, which answers a body alone: what only headers of the reply say need not be made. */
  readonly headersAreSent: boolean;
  readonly socketAddress: string;
  readonly clientAddress: string;
  /** For `raw` routes alone. */
  readonly request: IncomingMessage;
  /** For `raw` routes alone. */
  readonly response: ServerResponse;
  /**
   * Where `permit` is `byHandler`: call exactly once before any effect.
   * @throws AppError FORBIDDEN; Error when called twice or on another kind of route.
   */
  permit(this: Receiver, permission: string): void;
  /** Whether the caller holds a permission, for what an answer shows. It does not count as `permit`. */
  allows(this: Receiver, permission: string): boolean;
  /**
   * Where `charge` is `byHandler`: await exactly once before any effect.
   * @throws AppError RATE_LIMITED; Error when called twice or on another kind of route.
   */
  charge(this: Receiver, cost: number): Promise<void>;
  /** The caller was not looked up for this request: see `confirmsCaller` of a route. */
  readonly isProvisional: boolean;
  /** The effect has confirmed a provisional caller in its own transaction. */
  callerIsConfirmed(this: Receiver): void;
  /**
   * Looks a provisional caller up, before an effect or an answer that cannot confirm him.
   * @throws AppError UNAUTHENTICATED, UNAVAILABLE; CallerChangedError, which is to be let pass.
   */
  confirmCaller(this: Receiver): Promise<void>;
  /** The value of a header, occurrences joined as RFC 9110 says. `name` is lower case. */
  header(this: Receiver, name: string): string | undefined;
  /** Adds to the one log line of the request. */
  note(this: Receiver, notes: RequestNotes): void;
}
