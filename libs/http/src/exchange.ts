import assert from 'node:assert/strict';
import type { Response } from 'express';
import { AppError } from '@sealgate/errors';
import { inSpan, spanChannel, startSpan, type RequestRecord, type Span } from '@sealgate/observability';
import type { AppServices } from './app-services.ts';
import { CallerChangedError, lookUp } from './authenticate.ts';
import type { RoutedRequest } from './direct-routes.ts';
import type { Admission, Guard, RateLimitHeaders, RequestNotes } from './guard.ts';
import type { MountedRoute } from './mounted-route.ts';
import type { AnyContext } from './route.ts';
import { exactRequestId, headerValues, newTraceparent, requestIdOf, RequestView, traceIdOf } from './request-view.ts';

const NO_BODY = Buffer.alloc(0);

/**
 * One request on its way through an app: what its handler sees, and what the steps before and after the handler know.
 * The steps themselves are in `serve.ts`.
 */
export class Exchange implements AnyContext {
  readonly request: RoutedRequest;
  readonly response: Response;
  readonly services: AppServices;
  /** Undefined where no route matched. */
  readonly mounted: MountedRoute | undefined;
  readonly startedAt: number;
  readonly record: RequestRecord;
  /** Undefined where nobody traces. Everything that the request makes happen runs in it. */
  readonly span: Span | undefined;
  params: unknown = undefined;
  query: unknown = undefined;
  body: unknown = undefined;
  rawBody: Buffer = NO_BODY;
  bodyReading: 'not begun' | 'begun' | 'done' = 'not begun';
  caller: unknown = undefined;
  isKnownCaller = false;
  isProvisional = false;
  limits: RateLimitHeaders | undefined = undefined;
  /** What `admit` of the path adds to every answer. */
  pathHeaders: Readonly<Record<string, string>> | undefined = undefined;
  permitCalls = 0;
  chargeCalls = 0;
  wasCharged = false;
  /** Gives back the turn of a large body. */
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
    // Where nobody traces, nothing is made that only a span needs.
    this.span = spanChannel.hasSubscribers ? requestSpan(request, mounted, traceparent) : undefined;
    const taken = this.span?.traceparent ?? traceparent;
    if (taken !== undefined) this.#takeOnTrace(taken);
  }

  get requestId(): string {
    return this.record.requestId;
  }

  /** What X-Request-Id of the answer says. */
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
    if (this.#traceparent === undefined) this.#takeOnTrace(newTraceparent());
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

  /** @throws AssertionError on an app without a guard; the mount has made sure that all its routes are open. */
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
    // A request that is served again costs once. What was refused took nothing, and is decided by what holds now.
    const admission =
      this.#paid?.cost === cost
        ? this.#paid.admission
        : await inSpan({ name: 'charge' }, () => this.guard.charge(this.caller, cost, this));
    const { admitted, headers, retryAfterSeconds } = admission;
    if (admitted && this.isProvisional) this.#paid = { cost, admission };
    this.wasCharged = true;
    this.limits = headers;
    if (!admitted) throw new AppError('RATE_LIMITED', 'The rate limit of this key is used up.', { retryAfterSeconds });
  }

  #takeOnTrace(traceparent: string): void {
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
