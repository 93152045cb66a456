import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AppError, ErrorCode, Problem } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { TObject, TSchema } from '@sinclair/typebox';
import type { AuthRequest, RateLimitHeaders, RequestNotes } from './guard.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options';

/** One documented answer of a route. */
export interface ResponseSpec {
  readonly description: string;
  /** Absent: no body, or one that JSON Schema cannot describe. */
  readonly schema?: TSchema;
  /** Absent: `application/json`. */
  readonly contentType?: string;
  /** Further media types available by Accept, besides `contentType`. */
  readonly otherTypes?: readonly string[];
  /** Further headers: name and description. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the document says of a route in place of its own members. */
export interface Description {
  /** In OpenAPI syntax: `/files/{folder}/{name}`. */
  readonly path?: string;
  readonly operationId?: string;
  readonly summary?: string;
  readonly params?: TObject;
  readonly body?: TSchema;
}

/** The required permission, or `open` (no key), `authenticated` (any key), `byHandler` (depends on the body). */
type Permit = string;

/**
 * How a body is read: JSON of this schema; `strict-json`, any JSON value, validated by the handler; `json-bytes`,
 * non-empty bytes sent as JSON within the limit, parsed by the handler from `rawBody`; `bytes`, any bytes within the
 * limit, whose Content-Type and Content-Encoding are up to the handler.
 */
type BodyKind = TSchema | 'strict-json' | 'json-bytes' | 'bytes';

type CallerOf<Caller, Access extends Permit> = Access extends 'open' ? undefined : Caller;
type QueryOf<Query> = Query extends TSchema ? Query['static'] : Readonly<Record<string, never>>;
type BodyOf<Body> = Body extends 'strict-json' ? JsonValue : Body extends TSchema ? Body['static'] : undefined;

/** A body as `prefetch` of a route gets it. */
export interface PrefetchBody {
  /** Not validated yet. Undefined if the body has a fault, or has not been read. */
  readonly value: JsonValue | undefined;
  /** Milliseconds since the epoch at which its last byte was read; the current time if it has not been read. */
  readonly readAtMs: number;
}

type Prefetch<Caller, Prefetched> = (
  request: AuthRequest,
  body: PrefetchBody,
) => Promise<{ readonly caller: Caller; readonly prefetched: Prefetched }>;

/** The return type of the handler: a raw route writes its own answer. */
type HandlerResult<Raw extends boolean> = Raw extends true ? void : Reply;

/** A request whose body was not read yet. */
export interface BodyRequest<Caller> {
  readonly caller: Caller;
  readonly requestId: string;
  /** Undefined where the body has no announced length. */
  readonly announcedBytes: number | undefined;
  header(name: string): string | undefined;
}

export interface BodyTerms {
  /** A lower limit for a caller with few permissions, so that bodies it may not send are not read. */
  readonly maxBytes?: number;
  /** From the end of the headers to the last byte of the body. Absent: the server's request timeout. */
  readonly timeoutMs?: number;
  /** Called once, when the body begins to be read. May throw AppError to refuse it. */
  share?(): BodyShare;
}

/** What the body of one request takes of a resource that all bodies share. */
export interface BodyShare {
  /** Called with the number of bytes that have arrived so far. Throws AppError to refuse the rest. */
  arrived(bytes: number): void;
  /** Called with what refuses a body that has not all arrived, to give its place to another; undefined afterwards. */
  onCut?(cut: ((error: AppError) => void) | undefined): void;
  /** Called once or more when the request has ended, however it ended. */
  release(): void;
}

/** A request after authentication. */
interface Precheck<Caller, Params> {
  readonly caller: Caller;
  readonly params: Params;
  readonly request: AuthRequest;
}

export interface ProblemDecoration {
  /** The members that it adds, as a named object for OpenAPI. */
  readonly members?: TObject;
  /** Returns the document to send. */
  decorate(problem: Problem, error: AppError): Problem;
}

/**
 * The definition of a route. Access, cost and idempotency have no defaults: leaving one out is a type error and
 * prevents the start.
 */
interface RouteDefinition<
  Caller,
  Path extends string = string,
  Access extends Permit = Permit,
  Query extends TObject | 'ignored' | undefined = TObject | 'ignored' | undefined,
  Body extends BodyKind | undefined = BodyKind | undefined,
  Raw extends boolean = boolean,
  Prefetched = unknown,
> {
  readonly method: Method;
  /**
   * Literal segments, `:name` for one segment, `*name` for the rest. Case-sensitive, no trailing slash. On a raw route
   * the rest is not decoded or checked, and not in `params`: its handler reads it from `path`.
   */
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /**
   * What OpenAPI says in place of the members used here: a body whose schema is less specific, or the forms of a path
   * with `*name`, each as its own operation, because clients percent-encode slashes in a parameter.
   */
  readonly describedAs?: readonly Description[];
  readonly permit: Access;
  /** Cost of each call, charged before permissions are checked. */
  readonly charge: number | 'none' | 'byHandler';
  /**
   * The request looks: it takes one of the caller's places (`caller-places.ts`), so that one caller cannot take all
   * connections of those who look. `stream`: for as long as its answer lasts, an export or a live tail. Absent: it
   * decides, or costs nothing.
   */
  readonly looks?: true | 'stream';
  /** `of-content`: what is sent names itself, so the header Idempotency-Key is not read. */
  readonly idempotency: 'none' | 'in-transaction' | 'in-ledger' | 'of-content';
  /** Invalid path parameters are a 404, like a missing row. */
  readonly params?: TObject;
  /** Absent: every query parameter is refused. `ignored`: the query is not read. Values are strings. */
  readonly query?: Query;
  /**
   * Absent: the body is not read. The members `limit` and `cursor` of a body with a `cursor` are refused as INVALID_LIMIT
   * and INVALID_CURSOR, like those of a query.
   */
  readonly body?: Body;
  /** Limit on the decoded size. Required if there is a body. */
  readonly bodyMaxBytes?: number;
  /** Further terms on which the body of a request is read. Called once or more before it is read. */
  bodyTerms?(request: BodyRequest<CallerOf<Caller, Access>>): BodyTerms;
  /** An absent body, including an empty chunked one, is read as `{}` and needs no Content-Type. */
  readonly bodyOptional?: true;
  /**
   * Absent: `application/json`, to which `+json` adds all types that end in it. Of a `bytes` body: documentation, and
   * required.
   */
  readonly mediaTypes?: readonly string[];
  /**
   * The handler works with a recently looked-up caller (`lately` of the guard): before an effect it confirms the
   * caller, in the effect's own transaction (`callerIsConfirmed`) or by a look-up (`confirmCaller`). If the caller has
   * changed, the request is served again from the permission check on, with the body already read. Refusals and
   * unconfirmed answers wait for a look-up.
   */
  readonly confirmsCaller?: true;
  /**
   * Replaces `authenticate` of the guard: looks up the key and what the body names in one round trip. The handler gets
   * the data as `prefetched`. It throws what `authenticate` does.
   *
   * A body of at most 16,384 bytes that came with its headers, from a caller who `isExpected`, is parsed before this is
   * called. Any other body stays unread until the key is known: this is called without it, and again once it was read.
   * A fault of the body is kept and reported when its turn comes, so the order of refusals stays the same.
   */
  readonly prefetch?: Prefetch<Caller, Prefetched>;
  /** Refusals by content that precede validation of the shape. Throws AppError. */
  inspect?(body: JsonValue): void;
  /** Headers that the handler reads: name and description. They are optional and unchecked. Documentation only. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Codes the route may answer besides those implied by its other fields. */
  readonly errors: readonly ErrorCode[];
  /**
   * Refusals by path, before method and authentication (by Origin, for example), for every method of the path. Returned
   * headers are added to every answer to the request, refusals included; a refusal thrown here carries its own. An
   * X-Request-Id is sent in place of the usual one, and not logged.
   */
  admit?(request: AuthRequest): Readonly<Record<string, string>> | void;
  /** Refusals that need neither body nor I/O, right after authentication and `permit`. Throws AppError. */
  precheck?(checked: Precheck<CallerOf<Caller, Access>, PathParams<Path>>): void;
  /** Decorates every refusal on the path, for every method. */
  readonly problem?: ProblemDecoration;
  /** The handler writes to `response` itself; the common headers are already set. */
  readonly raw?: Raw;
  handler(
    context: HandlerContext<CallerOf<Caller, Access>, PathParams<Path>, QueryOf<Query>, BodyOf<Body>, Prefetched>,
  ): HandlerResult<Raw> | Promise<HandlerResult<Raw>>;
}

/** A context with erased types, as the library passes it. */
export type AnyContext = HandlerContext<unknown, unknown, unknown, unknown, unknown>;

/** A route with erased types, as the library mounts it. */
export interface AnyRoute extends Omit<RouteDefinition<unknown>, 'handler' | 'precheck' | 'bodyTerms'> {
  bodyTerms?(request: BodyRequest<unknown>): BodyTerms;
  precheck?(checked: Precheck<unknown, unknown>): void;
  handler(context: AnyContext): Reply | void | Promise<Reply | void>;
}

declare const CALLER: unique symbol;

/** A route of a surface with this type of caller, for `createApp` and `openApi`. */
export interface Route<Caller> extends AnyRoute {
  readonly prefetch?: Prefetch<Caller, unknown>;
  /** Never set. It prevents mounting routes of one surface in the app of another. */
  readonly [CALLER]?: (caller: Caller) => Caller;
}

/** Creates the `route` function of a surface: `export const route = routeFor<GatewayCaller>();` */
export function routeFor<Caller>() {
  return function route<
    const Path extends string,
    const Access extends Permit,
    const Query extends TObject | 'ignored' | undefined = undefined,
    const Body extends BodyKind | undefined = undefined,
    const Raw extends boolean = false,
    Prefetched = undefined,
  >(definition: RouteDefinition<Caller, Path, Access, Query, Body, Raw, Prefetched>): Route<Caller> {
    // Types are erased only here. It is sound because the library validates against these schemas before it calls the
    // handler.
    return definition;
  };
}

/** `route` for a listener without callers. In an app with a guard, use `routeFor`. */
export const route = routeFor<never>();

type ParamNames<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? ParamNames<Head> | ParamNames<Tail>
  : Path extends `:${infer Name}` | `*${infer Name}`
    ? Name
    : never;

/** The decoded parameters of a path: `PathParams<'/v1/cases/:caseId'>` is `{ readonly caseId: string }`. */
export type PathParams<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Name in ParamNames<Path>]: string };

/**
 * Methods are on a prototype, so that a request allocates no closures: call them on the context (`context.charge(1)`),
 * never destructured. The receiver type makes that a type error.
 */
type Receiver = { readonly requestId: string };

/** One request, as its handler sees it. */
export interface HandlerContext<Caller, Params, Query, Body, Prefetched = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The decoded bytes of the body, for fingerprints. Empty without a body. */
  readonly rawBody: Buffer;
  readonly caller: Caller;
  /** The data that `prefetch` of the route looked up together with the key. */
  readonly prefetched: Prefetched;
  /** All values of Idempotency-Key as sent, for `parseIdempotencyKey`. */
  readonly idempotency: { readonly keys: readonly string[] };
  readonly requestId: string;
  /** A W3C traceparent: the caller's, or a new one. Pass it to downstream calls. */
  readonly traceparent: string;
  /** The W3C tracestate of that trace. */
  readonly tracestate?: string | undefined;
  /** Aborted when the client disconnects before it is answered. */
  readonly signal: AbortSignal;
  /** Of a request that looks: names the caller whose places it takes. A tool call is part of such a request. */
  readonly share?: string | undefined;
  readonly method: string;
  /** The path as sent, without the query. */
  readonly path: string;
  /** True for a tool call, whose reply has no caching: its ETag need not be computed. */
  readonly isToolCall: boolean;
  /** For a tool call without `limit`: the page has at most this many bytes, as `bytesAsToolResult` counts them. */
  readonly pageMaxBytes: number | undefined;
  readonly socketAddress: string;
  readonly clientAddress: string;
  /** For `raw` routes, and for handlers that keep the headers as they came. */
  readonly request: IncomingMessage;
  /** For `raw` routes alone. */
  readonly response: ServerResponse;
  /**
   * For `permit: 'byHandler'`: call exactly once before any effect.
   * @throws AppError FORBIDDEN; Error when called twice or on another kind of route.
   */
  permit(this: Receiver, permission: string): void;
  /** Whether the caller has a permission, to shape an answer. It does not count as `permit`. */
  allows(this: Receiver, permission: string): boolean;
  /**
   * For `charge: 'byHandler'`: await exactly once before any effect.
   * @throws AppError RATE_LIMITED; Error when called twice or on another kind of route.
   */
  charge(this: Receiver, cost: number): Promise<void>;
  /** True if the caller was not looked up for this request; see `confirmsCaller` of a route. */
  readonly isProvisional: boolean;
  /** Call when the effect has confirmed a provisional caller in its own transaction. */
  callerIsConfirmed(this: Receiver): void;
  /**
   * Looks up a provisional caller, before an effect or answer that cannot confirm it.
   * @throws AppError UNAUTHENTICATED, UNAVAILABLE; CallerChangedError, which the handler must not catch.
   */
  confirmCaller(this: Receiver): Promise<void>;
  /** The value of a header, multiple values joined (RFC 9110). `name` is lower case. */
  header(this: Receiver, name: string): string | undefined;
  /** Adds fields to the log line of the request. */
  note(this: Receiver, notes: RequestNotes): void;
}

/** The reply of a handler. The library adds the common headers. */
export interface Reply {
  readonly status: number;
  /**
   * A string or Buffer is sent unchanged, for handlers that render their own JSON for speed or to hash it. Other values
   * are rendered with JSON.stringify. Absent: no body. A Buffer must not change afterwards: its compressed form is
   * cached.
   */
  readonly body?: string | Buffer | JsonValue | object;
  /** Further headers. `Cache-Control` replaces the default `no-store`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The reply contains a raw key, a salt or the like: it is never compressed, because the length would leak it
   * (BREACH).
   */
  readonly holdsSecret?: true;
  /** Compress it whatever its media type; text and JSON are compressed anyway. */
  readonly compresses?: true;
  /** Absent: `application/json`. */
  readonly contentType?: string;
}

/** An answer without the headers that all answers share. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer | undefined;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly limits: RateLimitHeaders | undefined;
  readonly closes: boolean;
  /** It contains a secret and is never compressed. */
  readonly holdsSecret: boolean;
  /** Compress it whatever its media type. */
  readonly compresses?: boolean;
}
