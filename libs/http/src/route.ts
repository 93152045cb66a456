import type { TObject, TSchema } from '@sinclair/typebox';
import type { AppError, ErrorCode, Problem } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { BodyTurns } from './body-turns.ts';
import type { AuthRequest } from './guard.ts';
import type { HandlerContext, PathParams } from './handler-context.ts';
import type { Reply } from './reply.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options';

/** One documented answer of a route. */
export interface ResponseSpec {
  readonly description: string;
  /** Absent: the answer has no body, or one that JSON Schema cannot describe. */
  readonly schema?: TSchema;
  /** Absent: `application/json`. */
  readonly contentType?: string;
  /** Media types in which the same can be had by Accept, besides `contentType`. */
  readonly otherTypes?: readonly string[];
  /** Headers beyond those of every answer: name and what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One form of a path, as OpenAPI writes it: `/files/{folder}/{name}`. */
export interface DescribedPath {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly params: TObject;
}

/** Who may call: a permission, `open` (no key), `authenticated` (any key), or `byHandler` (the body tells). */
export type Permit = string;

/**
 * What a body is taken as: JSON of this schema; `strict-json`, any JSON value, whose shape is the handler's business; or
 * `json-bytes`, a body that says it is JSON, is not empty and fits, and that the handler parses itself, from `rawBody`; or
 * `bytes`, a body that fits, as it came: Content-Type and Content-Encoding are the handler's business.
 */
export type BodyKind = TSchema | 'strict-json' | 'json-bytes' | 'bytes';

type CallerOf<Caller, Access extends Permit> = Access extends 'open' ? undefined : Caller;
type QueryOf<Query> = Query extends TSchema ? Query['static'] : Readonly<Record<string, never>>;
type BodyOf<Body> = Body extends 'strict-json' ? JsonValue : Body extends TSchema ? Body['static'] : undefined;

/** What a handler of this route returns: a raw route has written its own answer. */
type HandlerResult<Raw extends boolean> = Raw extends true ? void : Reply;

/**
 * A route as it is written down. Nothing about access, cost or idempotency has a default: leaving one out is a type
 * error, and a refusal to start.
 */
export interface RouteDefinition<
  Caller,
  Path extends string = string,
  Access extends Permit = Permit,
  Query extends TObject | 'ignored' | undefined = TObject | 'ignored' | undefined,
  Body extends BodyKind | undefined = BodyKind | undefined,
  Raw extends boolean = boolean,
> {
  readonly method: Method;
  /** Literal segments, `:name` for one segment, `*name` for the rest. Case-sensitive, no trailing slash. */
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /**
   * Present where the path takes the rest: the forms of the rest, each described as an operation of its own, because clients
   * percent-encode the slashes of a parameter. Requests are matched by `path` alone.
   */
  readonly describedAs?: readonly DescribedPath[];
  /**
   * The rest of the path is no parameter: whatever it holds, the handler takes it from `path`, as it was sent, and checks it.
   * For what passes requests on, or answers addresses that only a page understands.
   */
  readonly restAsSent?: true;
  readonly permit: Access;
  /** Ways in, besides the one of the surface, by which the guard knows callers of this path. This only describes them. */
  readonly otherAccess?: readonly ('Bearer' | 'nobody')[];
  /** What each call costs, before the route itself is allowed or refused. */
  readonly charge: number | 'none' | 'byHandler';
  readonly idempotency: 'none' | 'in-transaction' | 'in-ledger';
  /** Values of path parameters that do not fit are a 404, like a row that is not there. */
  readonly params?: TObject;
  /** Absent: every query parameter is refused. `ignored`: the query string is not read. Values are strings. */
  readonly query?: Query;
  /** Absent: the body is not read. */
  readonly body?: Body;
  /** Counts the bytes after Content-Encoding was undone. Required where there is a body. */
  readonly bodyMaxBytes?: number;
  /** Less than `bodyMaxBytes` for callers who may do little, so that what they may not do anyway is not read. */
  bodyMaxBytesOf?(caller: CallerOf<Caller, Access>): number;
  /** An absent body, also one that was announced in chunks and never came, is read as `{}` and needs no Content-Type. */
  readonly bodyOptional?: true;
  /** From the end of the headers to the last byte of the body. Absent: the limit of the server on the whole request. */
  readonly bodyTimeoutMs?: number;
  /** Media types that end in `+json` are taken too: what a webhook sends names its format. */
  readonly jsonSuffix?: true;
  /** What `openapi.json` lists for a body that is `bytes`. */
  readonly mediaTypes?: readonly string[];
  /** What `openapi.json` says of a body of which `body` says less: its forms, each with a name. */
  readonly bodyForms?: readonly TSchema[];
  /** Answered where the body is not sent as `application/json`. Absent: UNSUPPORTED_MEDIA_TYPE. */
  readonly wrongMediaType?: ErrorCode;
  /**
   * The handler can do with a caller who was looked up moments ago (`lately` of the guard): before an effect it has him
   * confirmed, in the effect's own transaction (`callerIsConfirmed`) or by a look-up (`confirmCaller`). Where he turns out
   * to have changed, the request is served again from the permission on, by the body that was read. Refusals and answers
   * that nothing has confirmed wait for a look-up.
   */
  readonly confirmsCaller?: true;
  /**
   * Present: a body that came with its headers, of 16,384 bytes at most and from a caller who is expected, is read before
   * authentication, and what this makes of it is handed to the guard as `ahead`, so that the key and what the body names
   * can be looked up in one round trip. A fault of the body is kept, and told when its turn comes: the order of refusals
   * stays. Any other body stays unread until the key is known; then the guard is asked again with what it names. The
   * shape has not been checked yet. It must not throw, and has no effect.
   */
  lookAhead?(body: JsonValue): unknown;
  /** Shared by the routes that take large bodies: a body above 16,384 bytes is parsed and handled when its turn has come. */
  readonly bodyTurns?: BodyTurns;
  /** `body`: its members `limit` and `cursor` are refused as INVALID_LIMIT and INVALID_CURSOR, as those of a query are. */
  readonly pagedBy?: 'body';
  /** Refusals by what a body holds that come before its shape is looked at. Throws AppError. */
  inspect?(body: JsonValue): void;
  /** Headers that the handler reads: name and what it does. They are optional and stay unchecked; this only describes. */
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Codes the route may answer besides those its other fields imply. */
  readonly errors: readonly ErrorCode[];
  /**
   * Refusals by path, before method and authentication (an Origin, say). It holds for every method of the path. The headers
   * it returns go out with every answer to the request, refusals included; a refusal of its own carries its own.
   */
  admit?(request: AuthRequest): Readonly<Record<string, string>> | void;
  /** Refusals that need neither the body nor I/O, right after authentication and the fixed `permit`. */
  precheck?(request: { readonly caller: CallerOf<Caller, Access>; readonly params: PathParams<Path> }): void;
  /** Every answer on the path echoes X-Request-Id as it came, whatever it holds, up to 1 KiB; logs go by one of ours then. */
  readonly echoesRequestId?: true;
  /** Where clients find out who issues tokens for this path; a 401 names it (RFC 9728, section 5.1). */
  readonly resourceMetadata?: string;
  /** Decorates every refusal on the path, whatever the method: returns the document to send. */
  problem?(problem: Problem, error: AppError): Problem;
  /** The members that `problem` adds, for the description: an object with a name. */
  readonly problemMembers?: TObject;
  /** The handler writes to `response` itself; headers of every answer are set on it already. */
  readonly raw?: Raw;
  handler(
    context: HandlerContext<CallerOf<Caller, Access>, PathParams<Path>, QueryOf<Query>, BodyOf<Body>>,
  ): HandlerResult<Raw> | Promise<HandlerResult<Raw>>;
}

/** A context whose types have been forgotten: what the library hands on without looking inside. */
export type AnyContext = HandlerContext<unknown, unknown, unknown, unknown>;

/** A route whose types have been forgotten: what the library mounts. */
export interface AnyRoute extends Omit<RouteDefinition<unknown>, 'handler' | 'precheck' | 'bodyMaxBytesOf'> {
  bodyMaxBytesOf?(caller: unknown): number;
  precheck?(request: { readonly caller: unknown; readonly params: unknown }): void;
  handler(context: AnyContext): Reply | void | Promise<Reply | void>;
}

declare const CALLER: unique symbol;

/** A route of a surface whose guard knows callers of this type, ready for `createApp` and `openApi`. */
export interface Route<Caller> extends AnyRoute {
  /** Never present: it keeps routes of one surface out of the app of another. */
  readonly [CALLER]?: (caller: Caller) => Caller;
}

/** The `route` of one surface: `export const route = routeFor<GatewayCaller>();` */
export function routeFor<Caller>() {
  return function route<
    const Path extends string,
    const Access extends Permit,
    const Query extends TObject | 'ignored' | undefined = undefined,
    const Body extends BodyKind | undefined = undefined,
    const Raw extends boolean = false,
  >(definition: RouteDefinition<Caller, Path, Access, Query, Body, Raw>): Route<Caller> {
    // The one place where the schemas are forgotten. It is sound because the library validates against those very
    // schemas before it calls the handler, so what arrives has the types that the handler was written for.
    return definition;
  };
}

/** `route` for a listener that knows no callers. Such a route fits no app with a guard: there, use the app's own. */
export const route = routeFor<never>();
