import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { AppError } from '@sealgate/errors';
import {
  inSpan,
  type Log,
  type RequestLog,
  type RequestRecord,
  type Span,
  spanChannel,
  startSpan,
} from '@sealgate/observability';
import type { Response } from 'express';
import type { AnswerWriter } from './answer.ts';
import type { Compression } from './content-coding.ts';
import {
  type Admission,
  CallerChangedError,
  type Guard,
  headerValues,
  lookUp,
  type RateLimitHeaders,
  type RequestNotes,
  RequestView,
} from './guard.ts';
import type { MountedRoute } from './mount.ts';
import type { RoutedRequest } from './paths.ts';
import type { AnyContext } from './route.ts';

/** Shared by all requests of one app. */
export interface AppServices {
  /** Callers are opaque here: values from the guard are only passed back to it. */
  readonly guard: Guard<unknown> | undefined;
  readonly log: Log;
  readonly requests: RequestLog;
  readonly writer: AnswerWriter;
  /** Undefined: answers are never compressed. */
  readonly compression: Compression | undefined;
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** Whether the address is a trusted proxy. Absent unless TLS ends at a proxy. */
  readonly refusesPlainHttpFrom: ((address: string) => boolean) | undefined;
  /** Route and code pairs already warned about: one warning each, so the set is bounded. */
  readonly undeclaredCodes: Set<string>;
  /** Set when the process drains: every answer then closes its connection. */
  draining: boolean;
}

const NO_BODY = Buffer.alloc(0);

/**
 * One request in an app: the context of its handler, and the state of the steps before and after it, which are in
 * `serve.ts`.
 */
export class Exchange implements AnyContext {
  readonly request: RoutedRequest;
  readonly response: Response;
  readonly services: AppServices;
  /** Undefined if no route matched. */
  readonly mounted: MountedRoute | undefined;
  readonly startedAt: number;
  readonly record: RequestRecord;
  /** Undefined if tracing is off. The work of the request runs in this span. */
  readonly span: Span | undefined;
  params: unknown = undefined;
  query: unknown = undefined;
  body: unknown = undefined;
  rawBody: Buffer = NO_BODY;
  bodyReading: 'not begun' | 'begun' | 'done' = 'not begun';
  caller: unknown = undefined;
  prefetched: unknown = undefined;
  isKnownCaller = false;
  isProvisional = false;
  limits: RateLimitHeaders | undefined = undefined;
  /** Headers from `admit` of the path, for every answer. */
  pathHeaders: Readonly<Record<string, string>> | undefined = undefined;
  permitCalls = 0;
  chargeCalls = 0;
  wasCharged = false;
  /** Releases the share of a large body in `bodyTurns`. */
  endTurn: (() => void) | undefined = undefined;
  #paid: { readonly cost: number; readonly admission: Admission } | undefined = undefined;
  #view: RequestView | undefined = undefined;
  #traceparent: string | undefined = undefined;

  constructor(request: RoutedRequest, response: Response, services: AppServices, mounted: MountedRoute | undefined) {
    this.request = request;
    this.response = response;
    this.services = services;
    this.mounted = mounted;
    this.startedAt = services.now();
    this.record = {
      method: request.method,
      route: mounted === undefined ? 'none' : mounted.template,
      status: 0,
      durationMs: 0,
      requestId: requestIdOf(headerOf(request, 'x-request-id'), services.newRequestId),
    };
    const traceparent = headerOf(request, 'traceparent');
    // Without tracing, build nothing that only a span needs.
    this.span = spanChannel.hasSubscribers ? requestSpan(request, mounted, traceparent) : undefined;
    const accepted = this.span?.traceparent ?? traceparent;
    if (accepted !== undefined) this.#adoptTrace(accepted);
  }

  get requestId(): string {
    return this.record.requestId;
  }

  /** The value of X-Request-Id in the answer. */
  get echoedRequestId(): string {
    if (this.mounted?.route.echoesRequestId !== true) return this.requestId;
    return exactRequestId(headerValues(this.request.rawHeaders, 'x-request-id')) ?? this.requestId;
  }

  get method(): string {
    return this.request.method;
  }

  get path(): string {
    return this.request.path;
  }

  get headersAreSent(): boolean {
    return true;
  }

  get traceparent(): string {
    if (this.#traceparent === undefined) this.#adoptTrace(newTraceparent());
    return this.#traceparent ?? '';
  }

  get tracestate(): string | undefined {
    const isOfCaller = this.record.traceId !== undefined && this.header('traceparent')?.includes(this.record.traceId);
    if (this.span !== undefined) return this.span.tracestate;
    return isOfCaller === true ? this.header('tracestate') : undefined;
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get idempotency(): { readonly keys: readonly string[] } {
    return { keys: headerValues(this.request.rawHeaders, 'idempotency-key') };
  }

  /** @throws AssertionError on an app without a guard; mounting has checked that all its routes are open. */
  get guard(): Guard<unknown> {
    assert(this.services.guard !== undefined, 'A route that is not open needs a guard.');
    return this.services.guard;
  }

  get view(): RequestView {
    this.#view ??= new RequestView(this.request);
    return this.#view;
  }

  get socketAddress(): string {
    return this.view.socketAddress;
  }

  get clientAddress(): string {
    return this.view.clientAddress;
  }

  permit(permission: string): void {
    if (this.mounted?.route.permit !== 'byHandler')
      throw new Error('Only a route whose permit is byHandler decides it.');
    this.permitCalls += 1;
    if (this.permitCalls > 1) throw new Error('The handler called permit() twice.');
    this.requirePermission(permission);
  }

  allows(permission: string): boolean {
    return this.isKnownCaller && this.guard.permits(this.caller, permission);
  }

  async charge(cost: number): Promise<void> {
    if (this.mounted?.route.charge !== 'byHandler')
      throw new Error('Only a route whose charge is byHandler decides it.');
    this.chargeCalls += 1;
    if (this.chargeCalls > 1) throw new Error('The handler called charge() twice.');
    await this.takeCharge(cost);
  }

  callerIsConfirmed(): void {
    this.isProvisional = false;
  }

  async confirmCaller(): Promise<void> {
    if (this.isProvisional && !(await lookUp(this))) throw new CallerChangedError();
  }

  header(name: string): string | undefined {
    return headerOf(this.request, name);
  }

  note(notes: RequestNotes): void {
    Object.assign(this.record, notes);
  }

  /** @throws AppError FORBIDDEN */
  requirePermission(permission: string): void {
    if (!this.allows(permission)) throw new AppError('FORBIDDEN', 'This key may not do that.');
  }

  /** @throws AppError RATE_LIMITED */
  async takeCharge(cost: number): Promise<void> {
    // A request that is served again is charged once. A refused charge took nothing, so it is decided anew.
    const admission =
      this.#paid?.cost === cost
        ? this.#paid.admission
        : await inSpan({ name: 'charge' }, () => this.guard.charge(this.caller, cost, this));
    const { admitted, headers, retryAfterSeconds } = admission;
    if (admitted && this.isProvisional) this.#paid = { cost, admission };
    this.wasCharged = true;
    this.limits = headers;
    if (!admitted)
      throw new AppError('RATE_LIMITED', 'The rate limit of this key is exhausted.', { retryAfterSeconds });
  }

  #adoptTrace(traceparent: string): void {
    const traceId = traceIdOf(traceparent);
    if (traceId === undefined) return;
    this.#traceparent = traceparent;
    this.record.traceId = traceId;
  }
}

function headerOf(request: RoutedRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

function requestSpan(
  request: RoutedRequest,
  mounted: MountedRoute | undefined,
  traceparent: string | undefined,
): Span | undefined {
  return startSpan({
    name: mounted === undefined ? request.method : `${request.method} ${mounted.template}`,
    kind: 'server',
    attributes: { 'http.request.method': request.method, 'network.protocol.version': request.httpVersion },
    remote: { traceparent, tracestate: headerOf(request, 'tracestate') },
    beginsTrace: true,
  });
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/**
 * The caller's X-Request-Id if it is valid, else a new one. If sent twice, it contains a comma and a space and is
 * invalid.
 */
function requestIdOf(header: string | undefined, newRequestId: () => string): string {
  return header !== undefined && REQUEST_ID.test(header) ? header : newRequestId();
}

/** All characters Node allows in a header; bytes above ASCII appear as one character each. */
const ANY_REQUEST_ID = /^[\t\x20-\x7e\x80-\xff]{1,1024}$/;

/**
 * The caller's X-Request-Id unchanged, for routes whose protocol requires an echo. Used only in that header. Undefined
 * if it is absent, repeated, or longer than 1 KiB.
 */
function exactRequestId(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  return value !== undefined && headerValues.length === 1 && ANY_REQUEST_ID.test(value) ? value : undefined;
}

/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags; later versions may add fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const NO_TRACE_ID = '0'.repeat(32);
const NO_PARENT_ID = '0'.repeat(16);

/** The trace id of a valid `traceparent` header, else undefined. */
export function traceIdOf(header: string): string | undefined {
  const match = TRACEPARENT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, further] = match;
  if (version === 'ff' || traceId === NO_TRACE_ID || parentId === NO_PARENT_ID) return undefined;
  return version === '00' && further !== undefined ? undefined : traceId;
}

/** A traceparent for a request without one. Not sampled, because no caller asked for it. */
export function newTraceparent(): string {
  const bytes = randomBytes(24).toString('hex');
  return `00-${bytes.slice(0, 32)}-${bytes.slice(32)}-00`;
}
