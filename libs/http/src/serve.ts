import { AppError, PROBLEM_MEDIA_TYPE } from '@sealgate/errors';
import { defined, type JsonValue } from '@sealgate/json';
import { type RequestRecord, safeText, type Span } from '@sealgate/observability';
import { checkShape, notFound, pathValuesOf } from './check-shape.ts';
import { type AnswerCoding, encodingFor } from './content-coding.ts';
import { type Exchange, HandlerCalls } from './exchange.ts';
import { CallerChangedError, type RateLimitHeaders } from './guard.ts';
import type { MountedRoute } from './mounted-route.ts';
import { refusalHeaders, refusalOf, renderProblem } from './problems.ts';
import {
  announcesBody,
  ClientGoneError,
  discardBody,
  type EarlyBody,
  readEarly,
  readOnce,
  requireSingleHeaders,
} from './read-body.ts';
import type { Answer, Reply } from './route.ts';

/**
 * Serves a request of a route, in the order of refusal that all surfaces share: authentication, limits, permission,
 * precheck, media type, size, JSON, shape, handler. Never rejects.
 */
export async function serve(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  try {
    await run(exchange, mounted);
  } catch (error) {
    await answerFailure(exchange, error);
  } finally {
    if (mounted.route.looks === true) exchange.leavePlace?.();
    exchange.endDeciding?.();
  }
}

/** Answers requests without a route: 405 if the path exists (`allow` lists its methods), else 404. */
export async function serveUnmatched(exchange: Exchange, allow: string | undefined, error: unknown): Promise<void> {
  try {
    enter(exchange);
    await answerFailure(exchange, unmatchedError(allow, error));
  } catch (refusal) {
    await answerFailure(exchange, refusal);
  }
}

function unmatchedError(allow: string | undefined, error: unknown): unknown {
  // Malformed percent-encoding is a 404. Nothing else fails while routing.
  if (error !== undefined && !(error instanceof URIError)) return error;
  if (allow === undefined) return notFound();
  const detail = 'This path does not answer that method.';
  return new AppError('METHOD_NOT_ALLOWED', detail, { headers: { Allow: allow } });
}

async function answerFailure(exchange: Exchange, error: unknown): Promise<void> {
  try {
    await answerError(exchange, error);
  } catch (bug) {
    // The guard failed on the refusal, or the answer cannot be sent. Do not call the guard again.
    exchange.isKnownCaller = false;
    exchange.limits = undefined;
    await answerError(exchange, bug);
  }
}

function enter(exchange: Exchange): void {
  const { refusesPlainHttpFrom } = exchange.services;
  if (refusesPlainHttpFrom !== undefined) requireTls(exchange, refusesPlainHttpFrom);
  const headers = exchange.mounted?.admit?.(exchange.view);
  if (headers === undefined) return;
  const { 'X-Request-Id': echoed = exchange.requestId, ...others } = headers;
  exchange.echoedRequestId = echoed;
  exchange.pathHeaders = others;
}

function requireTls(exchange: Exchange, isTrustedProxy: (address: string) => boolean): void {
  // Proxies append to the header: the first value is the client's protocol.
  const protocol = exchange.header('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  if (protocol === 'http' && isTrustedProxy(exchange.socketAddress)) {
    throw new AppError('TLS_REQUIRED', 'This service answers over TLS only.');
  }
}

async function run(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  const { route } = mounted;
  enter(exchange);
  exchange.params = pathValuesOf(exchange.request.params, { withoutRest: route.raw });
  const early = route.prefetch === undefined ? undefined : await readEarly(exchange, mounted);
  if (route.confirmsCaller === true && exchange.recallCaller()) return runProvisionally(exchange, mounted);
  if (!mounted.isOpen) await exchange.authenticate(early);
  return runAs(exchange, mounted, early);
}

/** Serves with a provisional caller, and once more if the caller has changed. */
async function runProvisionally(exchange: Exchange, mounted: MountedRoute): Promise<void> {
  try {
    return await runAs(exchange, mounted, undefined);
  } catch (error) {
    if (!(await shouldRestart(exchange, error))) throw error;
  }
  exchange.calls = new HandlerCalls();
  await runAs(exchange, mounted, undefined);
}

/**
 * Looks up a provisional caller before a refusal is sent. Failures on our side say nothing about the caller and are
 * sent as they are.
 */
async function shouldRestart(exchange: Exchange, error: unknown): Promise<boolean> {
  const isChanged = error instanceof CallerChangedError;
  if (!exchange.isProvisional) return isChanged;
  if (!isChanged && !(error instanceof AppError && error.status < 500)) return false;
  const isUnchanged = await exchange.lookUpCaller();
  // A fault of the body does not depend on the caller.
  return exchange.bodyReading !== 'begun' && (isChanged || !isUnchanged);
}

/** Everything after authentication. */
async function runAs(exchange: Exchange, mounted: MountedRoute, early: EarlyBody | undefined): Promise<void> {
  const { route, cost, permission } = mounted;
  if (cost !== undefined) await exchange.takeCharge(cost);
  const taking = takeTurn(exchange, mounted);
  if (taking !== undefined) await taking;
  if (permission !== undefined) exchange.requirePermission(permission);
  route.precheck?.({ caller: exchange.caller, params: exchange.params, request: exchange.view });
  requireSingleHeaders(exchange);
  if (early?.fault !== undefined) throw early.fault;
  if (route.body !== undefined) {
    const reading = early?.isRead === true ? undefined : readOnce(exchange, mounted);
    if (reading !== undefined) await reading;
    route.inspect?.(exchange.body as JsonValue);
  }
  checkShape(exchange, mounted);
  if (route.raw === true) {
    prepareRaw(exchange);
    await route.handler(exchange);
    finishRaw(exchange);
    return;
  }
  const reply = await route.handler(exchange);
  if (exchange.isProvisional) await exchange.confirmCaller();
  const sending = answerReply(exchange, reply);
  if (sending !== undefined) await sending;
}

/** A request that looks takes a place of its caller; while any other is under way, what looks makes room. */
function takeTurn(exchange: Exchange, { route: { looks } }: MountedRoute): Promise<void> | undefined {
  if (looks !== undefined) return exchange.takePlace(looks);
  // A request that is served again has begun.
  exchange.endDeciding ??= exchange.services.deciding.begin();
  return undefined;
}

/** Logged when the client has gone; never sent. */
const CLIENT_CLOSED_REQUEST = 499;

const JSON_MEDIA_TYPE = 'application/json';

/** What is sent of an answer: with the headers of the path, and compressed. */
interface Encoded extends Pick<Answer, 'headers' | 'body'> {
  /**
   * Undefined where the answer never varies by Accept-Encoding. The body of a compressed HEAD answer is not compressed,
   * so its length is unknown.
   */
  readonly encoding: AnswerCoding | 'identity' | undefined;
}

/** Sends the handler's reply: at once, or after compression if a promise is returned. */
function answerReply(exchange: Exchange, reply: Reply | void): Promise<void> | undefined {
  if (reply === undefined) throw new Error('The handler returned no reply.');
  requirePermitAndCharge(exchange, reply.status);
  const { body } = reply;
  return send(exchange, {
    status: reply.status,
    body: body === undefined || typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body),
    contentType: reply.contentType ?? JSON_MEDIA_TYPE,
    headers: reply.headers,
    limits: limitsOf(exchange),
    closes: false,
    holdsSecret: reply.holdsSecret === true,
    compresses: reply.compresses === true,
  });
}

/** For raw handlers: sets the common headers on the response. */
function prepareRaw(exchange: Exchange): void {
  const { response, services, pathHeaders } = exchange;
  const { constantHeaders } = services;
  for (let i = 0; i + 1 < constantHeaders.length; i += 2) {
    response.setHeader(constantHeaders[i] ?? '', constantHeaders[i + 1] ?? '');
  }
  response.setHeader('X-Request-Id', exchange.echoedRequestId);
  response.setHeader(...NO_STORE);
  if (services.draining) response.setHeader('Connection', 'close');
  const limits = limitsOf(exchange);
  if (limits !== undefined) {
    response.setHeader('RateLimit-Policy', limits['RateLimit-Policy']);
    response.setHeader('RateLimit', limits.RateLimit);
  }
  for (const [name, value] of Object.entries(pathHeaders ?? {})) response.setHeader(name, value);
}

/** Completes the record of a raw handler's request. Its response may still be in flight. */
function finishRaw(exchange: Exchange): void {
  const { headersSent, destroyed } = exchange.response;
  if (!headersSent && destroyed) throw new ClientGoneError('The client went away.');
  if (!headersSent) throw new Error('The raw handler wrote no answer.');
  finishRecord(exchange, exchange.response.statusCode);
}

/** Sends a problem for anything thrown. A bug is logged once, and its answer reveals nothing. */
function answerError(exchange: Exchange, thrown: unknown): Promise<void> | undefined {
  if (thrown instanceof ClientGoneError) {
    finishRecord(exchange, CLIENT_CLOSED_REQUEST);
    return undefined;
  }
  const error = refusalOf(exchange, thrown);
  const { response } = exchange;
  if (response.headersSent) {
    // A raw handler failed after it sent headers: destroy the connection, so that a partial answer is not taken for a
    // complete one.
    finishRecord(exchange, error.status);
    response.destroy();
    return undefined;
  }
  // Remove headers left by the handler or by an answer that could not be written.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.statusMessage = '';
  return send(exchange, {
    status: error.status,
    body: renderProblem(exchange, error),
    contentType: PROBLEM_MEDIA_TYPE,
    headers: refusalHeaders(exchange, error),
    limits: error.headers['RateLimit'] === undefined ? limitsOf(exchange) : undefined,
    // The rest of a late body would be parsed as the next request.
    closes: error.code === 'REQUEST_TIMEOUT',
    holdsSecret: false,
  });
}

function send(exchange: Exchange, answer: Answer): Promise<void> | undefined {
  const { services, pathHeaders, request } = exchange;
  const { compression } = services;
  const { body } = answer;
  const headers = pathHeaders === undefined ? answer.headers : { ...pathHeaders, ...answer.headers };
  const encoding = compression && encodingFor(request, answer, headers);
  if (compression === undefined || body === undefined || encoding === undefined || encoding === 'identity') {
    return write(exchange, answer, { headers, body, encoding });
  }
  if (request.method === 'HEAD') return write(exchange, answer, { headers, body, encoding });
  const compressing = compression.compress(body, encoding, answer.compresses === true ? 'fast' : 'usual');
  if (compressing === undefined) return write(exchange, answer, { headers, body, encoding: 'identity' });
  return compressing.then((compressed) =>
    compressed === undefined
      ? write(exchange, answer, { headers, body, encoding: 'identity' })
      : write(exchange, answer, { headers, body: compressed, encoding }),
  );
}

function write(exchange: Exchange, answer: Answer, encoded: Encoded): undefined {
  const { request, response, rawBody, echoedRequestId } = exchange;
  const { body } = encoded;
  response.writeHead(answer.status, headerList(exchange, answer, encoded, echoedRequestId));
  // Node sends no body for HEAD, 204 and 304.
  response.end(typeof body === 'string' && BEYOND_ASCII.test(echoedRequestId) ? Buffer.from(body) : body);
  finishRecord(exchange, answer.status);
  // An unread body may still be arriving.
  if (!request.complete && rawBody.length === 0 && announcesBody(request)) discardBody(request);
}

/**
 * Node encodes headers and a string body together as UTF-8, which breaks a latin-1 header. A Buffer body avoids that.
 */
// eslint-disable-next-line no-control-regex -- matches all of ASCII
const BEYOND_ASCII = /[^\x00-\x7f]/;

const NO_STORE = ['Cache-Control', 'no-store'] as const;
const VARY = ['Vary', 'Accept-Encoding'] as const;

/** The headers of an answer, for one `writeHead`. HEAD has the Content-Length of its GET if it is known. */
function headerList(
  { services, request }: Exchange,
  { status, contentType, limits, closes }: Answer,
  { headers, body, encoding }: Encoded,
  requestId: string,
): string[] {
  const isCompressed = encoding !== undefined && encoding !== 'identity';
  const list = services.constantHeaders.slice();
  list.push('X-Request-Id', requestId);
  if (limits !== undefined) list.push('RateLimit-Policy', limits['RateLimit-Policy'], 'RateLimit', limits.RateLimit);
  if (status !== 204 && status !== 304) {
    if (body !== undefined) list.push('Content-Type', contentType);
    if (isCompressed) list.push('Content-Encoding', encoding);
    if (!isCompressed || request.method !== 'HEAD') list.push('Content-Length', String(lengthOf(body)));
  }
  if (closes || services.draining) list.push('Connection', 'close');
  if (headers !== undefined) pushHeaders(list, headers, encoding !== undefined);
  else if (encoding === undefined) list.push(...NO_STORE);
  else list.push(...NO_STORE, ...VARY);
  return list;
}

function lengthOf(body: string | Buffer | undefined): number {
  if (body === undefined) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

function pushHeaders(list: string[], headers: Readonly<Record<string, string>>, varies: boolean): void {
  let hasCacheControl = false;
  let vary: string | undefined = varies ? VARY[1] : undefined;
  for (const name in headers) {
    const lowerCase = name.toLowerCase();
    hasCacheControl ||= lowerCase === 'cache-control';
    if (vary !== undefined && lowerCase === 'vary') vary = `${headers[name]}, ${vary}`;
    else list.push(name, headers[name] ?? '');
  }
  if (vary !== undefined) list.push(VARY[0], vary);
  if (!hasCacheControl) list.push(...NO_STORE);
}

/** A reply without permission check or charge is a bug of the handler and must not look like success. */
function requirePermitAndCharge(exchange: Exchange, status: number): void {
  if (status < 200 || status > 299) return;
  const route = exchange.mounted?.route;
  if (route?.permit === 'byHandler' && exchange.calls.permit !== 1) {
    throw new Error('The handler reached its reply without having called permit().');
  }
  if (route?.charge === 'byHandler' && exchange.calls.charge !== 1) {
    throw new Error('The handler reached its reply without having called charge().');
  }
}

function limitsOf(exchange: Exchange): RateLimitHeaders | undefined {
  if (exchange.limits !== undefined || !exchange.isKnownCaller) return exchange.limits;
  return exchange.guard.lastLimits?.(exchange.caller);
}

function finishRecord(exchange: Exchange, status: number): void {
  const { record, services, mounted } = exchange;
  record.status = status;
  record.durationMs = Math.max(0, services.now() - exchange.startedAt);
  if (exchange.isKnownCaller) Object.assign(record, exchange.guard.describe?.(exchange.caller));
  services.requests.write(record);
  exchange.endTurn?.();
  mounted?.meter.observe(status, record.durationMs);
  if (exchange.span !== undefined) endSpan(exchange.span, record);
}

/** OpenTelemetry semantic conventions: only a 5xx marks a server span as failed. */
function endSpan(span: Span, { requestId, route, status, code, records, replayed, outcome }: RequestRecord): void {
  const attributes = {
    'sealgate.request.id': safeText(requestId),
    'http.response.status_code': status,
    'http.route': route === 'none' ? undefined : route,
    'sealgate.problem.code': code,
    'sealgate.records': records,
    'sealgate.replayed': replayed,
    'sealgate.outcome': outcome,
  };
  span.set(defined(attributes));
  span.end(status >= 500 ? (code ?? String(status)) : undefined);
}
