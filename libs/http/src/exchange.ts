import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { AppError } from '@sealgate/errors';
import {
  inSpan,
  type Log,
  newTraceparent,
  type RequestLog,
  type RequestRecord,
  type Span,
  spanChannel,
  startSpan,
  traceIdOf,
} from '@sealgate/observability';
import express, { type Response } from 'express';
import type { BodyTurns } from './body-turns.ts';
import type { Deciding } from './deciding.ts';
import { type Leave, type LookPlaces, takePlace } from './caller-places.ts';
import type { Compression } from './content-coding.ts';
import {
  type Admission,
  type AuthRequest,
  CallerChangedError,
  type Guard,
  type RateLimitHeaders,
  type RequestNotes,
} from './guard.ts';
import { headerOf, headerValues } from './header-values.ts';
import type { MountedRoute } from './mounted-route.ts';
import type { AnyContext, PrefetchBody } from './route.ts';

/** A request whose route is known: the part of Express's request that routes other than raw ones need. */
export interface RoutedRequest extends IncomingMessage {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string | string[]>>;
}

/** Shared by all requests of one app. */
export interface AppServices {
  /** Callers are opaque here: values from the guard are only passed back to it. */
  readonly guard: Guard<unknown> | undefined;
  readonly log: Log;
  readonly requests: RequestLog;
  /** Headers of every answer, as a flat list of names and values. */
  readonly constantHeaders: readonly string[];
  /** Undefined: answers are never compressed. */
  readonly compression: Compression | undefined;
  readonly bodyTurns: BodyTurns | undefined;
  readonly places: LookPlaces;
  readonly deciding: Deciding;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  /** Whether the address is a trusted proxy. Absent unless TLS ends at a proxy. */
  readonly refusesPlainHttpFrom: ((address: string) => boolean) | undefined;
  /** Route and code pairs already warned about: one warning each, so the set is bounded. */
  readonly undeclaredCodes: Set<string>;
  /** Set when the process drains: every answer then closes its connection. */
  draining: boolean;
}

const NO_BODY = Buffer.alloc(0);

/** How often a handler has decided on permission and cost itself. */
export class HandlerCalls {
  permit = 0;
  charge = 0;
}

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
  /** The value of X-Request-Id in the answer. */
  echoedRequestId: string;
  calls = new HandlerCalls();
  wasCharged = false;
  /** Releases the share of a large body in `bodyTurns`. */
  endTurn: (() => void) | undefined = undefined;
  /** Gives back the place of a request that looks. */
  leavePlace: Leave | undefined = undefined;
  /** Set from when the caller of a request that decides is known. */
  endDeciding: (() => void) | undefined = undefined;
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
      requestId: requestIdOf(headerOf(request, 'x-request-id'), services),
    };
    this.echoedRequestId = this.requestId;
    const traceparent = headerOf(request, 'traceparent');
    // Without tracing, build nothing that only a span needs.
    this.span = spanChannel.hasSubscribers ? requestSpan(request, mounted, traceparent) : undefined;
    const accepted = this.span?.traceparent ?? traceparent;
    if (accepted !== undefined) this.#adoptTrace(accepted);
  }

  get requestId(): string {
    return this.record.requestId;
  }

  get method(): string {
    return this.request.method;
  }

  get path(): string {
    return this.request.path;
  }

  get isToolCall(): boolean {
    return false;
  }

  get pageMaxBytes(): undefined {
    return undefined;
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

  get share(): string {
    const share = this.isKnownCaller ? this.guard.shareOf?.(this.caller) : this.clientAddress;
    assert(share !== undefined, 'A guard of routes that look names the share of its callers.');
    return share;
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
    this.#view ??= new RequestView(this);
    return this.#view;
  }

  get socketAddress(): string {
    return this.view.socketAddress;
  }

  get clientAddress(): string {
    return this.view.clientAddress;
  }

  /**
   * Authenticates the request: by `prefetch` of the route if there is a body to pass to it, else by the guard.
   * @throws AppError UNAUTHENTICATED, or any other error of the look-up.
   */
  async authenticate(body?: PrefetchBody): Promise<void> {
    const { guard, view } = this;
    const prefetch = this.mounted?.route.prefetch;
    try {
      if (this.#isSentTwice()) throw new AppError('UNAUTHENTICATED', 'A credential was sent twice.');
      if (prefetch === undefined || body === undefined) {
        this.caller = await inSpan({ name: 'authenticate' }, () => guard.authenticate(view));
      } else {
        const found = await inSpan({ name: 'authenticate' }, () => prefetch(view, body));
        this.caller = found.caller;
        this.prefetched = found.prefetched;
      }
      this.isKnownCaller = true;
    } catch (error) {
      this.isKnownCaller = false;
      this.limits = undefined;
      if (!(error instanceof AppError) || error.code !== 'UNAUTHENTICATED') throw error;
      // There is no caller to log, so log the address.
      this.note({ clientAddress: this.clientAddress });
      const limited = await guard.failedAuthentication?.(view, this);
      // The cause is not sent, so that answers do not help to guess keys.
      throw limited ?? new AppError('UNAUTHENTICATED', 'A valid key is required.', { cause: error });
    }
  }

  /** Uses a recently looked-up caller provisionally. Returns false, and does nothing, if there is none. */
  recallCaller(): boolean {
    const { lately } = this.guard;
    const caller = lately === undefined || this.#isSentTwice() ? undefined : lately.find(this.view);
    if (caller === undefined) return false;
    this.caller = caller;
    this.isKnownCaller = true;
    this.isProvisional = true;
    return true;
  }

  /**
   * Looks up a provisional caller.
   * @returns whether the caller is unchanged.
   * @throws what `authenticate` throws.
   */
  async lookUpCaller(): Promise<boolean> {
    const before = this.caller;
    this.isProvisional = false;
    await this.authenticate();
    return this.guard.lately?.isUnchanged(before, this.caller) === true;
  }

  permit(permission: string): void {
    if (this.mounted?.route.permit !== 'byHandler')
      throw new Error('Only a route whose permit is byHandler decides it.');
    this.calls.permit += 1;
    if (this.calls.permit > 1) throw new Error('The handler called permit() twice.');
    this.requirePermission(permission);
  }

  allows(permission: string): boolean {
    return this.isKnownCaller && this.guard.permits(this.caller, permission);
  }

  async charge(cost: number): Promise<void> {
    if (this.mounted?.route.charge !== 'byHandler')
      throw new Error('Only a route whose charge is byHandler decides it.');
    this.calls.charge += 1;
    if (this.calls.charge > 1) throw new Error('The handler called charge() twice.');
    await this.takeCharge(cost);
  }

  callerIsConfirmed(): void {
    this.isProvisional = false;
  }

  async confirmCaller(): Promise<void> {
    if (this.isProvisional && !(await this.lookUpCaller())) throw new CallerChangedError();
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
        : await inSpan({ name: 'charge' }, () => this.guard.charge(this.caller, cost));
    const { admitted, headers, retryAfterSeconds } = admission;
    if (admitted && this.isProvisional) this.#paid = { cost, admission };
    this.wasCharged = true;
    this.limits = headers;
    if (!admitted)
      throw new AppError('RATE_LIMITED', 'The rate limit of this caller is exhausted.', { retryAfterSeconds });
  }

  /** Takes a place of the caller for a request that looks. @throws AppError RATE_LIMITED */
  async takePlace(looks: true | 'stream'): Promise<void> {
    // A request that is served again has its place.
    this.leavePlace ??= await takePlace(this, looks);
  }

  #isSentTwice(): boolean {
    const { rawHeaders } = this.request;
    return headerValues(rawHeaders, 'authorization').length > 1 || headerValues(rawHeaders, 'x-api-key').length > 1;
  }

  #adoptTrace(traceparent: string): void {
    const traceId = traceIdOf(traceparent);
    if (traceId === undefined) return;
    this.#traceparent = traceparent;
    this.record.traceId = traceId;
  }
}

const ipGetter = Object.getOwnPropertyDescriptor(express.request, 'ip')?.get;

/** The part of a request that authentication sees. */
class RequestView implements AuthRequest {
  readonly #request: RoutedRequest;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#request = exchange.request;
    this.#exchange = exchange;
  }

  note(notes: RequestNotes): void {
    this.#exchange.note(notes);
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
    // Express's getter applies `trust proxy`.
    return (ipGetter?.call(this.#request) as string | undefined) ?? this.socketAddress;
  }
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
function requestIdOf(header: string | undefined, { newId }: AppServices): string {
  return header !== undefined && REQUEST_ID.test(header) ? header : newId('req_');
}
