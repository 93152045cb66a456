import { types } from 'node:util';
import { AppError, PROBLEM_MEDIA_TYPE, problemOf } from '@sealgate/errors';
import type { RequestRecord, Span } from '@sealgate/observability';
import type { Answer } from './answer.ts';
import { encodingFor } from './compression.ts';
import type { Exchange } from './exchange.ts';
import type { RateLimitHeaders } from './guard.ts';
import { announcesBody, ClientGoneError, discardBody } from './read-body.ts';
import type { Reply } from './reply.ts';

/** Logged where there was nobody left to answer; never sent. */
const CLIENT_CLOSED_REQUEST = 499;

const JSON_MEDIA_TYPE = 'application/json';

/** What a step knows of its answer; `send` adds the rest. */
type Unsent = Omit<Answer, 'requestId' | 'encoding'>;

/** Sends what the handler returned, at once or, where there is a promise, when it has been compressed. */
export function answerReply(exchange: Exchange, reply: Reply): Promise<void> | undefined {
  requireDecided(exchange, reply.status);
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

/** Sets on the response, for a raw handler, what every answer carries. */
export function prepareRaw(exchange: Exchange): void {
  const { writer, draining } = exchange.services;
  writer.prepare(exchange.response, {
    requestId: exchange.echoedRequestId,
    limits: limitsOf(exchange),
    closes: draining,
  });
  for (const [name, value] of Object.entries(exchange.pathHeaders ?? {})) exchange.response.setHeader(name, value);
}

/** Books a raw handler's request. Its answer may still be on its way. */
export function finishRaw(exchange: Exchange): void {
  if (!exchange.response.headersSent) throw new Error('The raw handler wrote no answer.');
  finishRecord(exchange, exchange.response.statusCode);
}

/** Sends a problem for whatever was thrown; a bug is logged here, once, and says nothing about itself to the caller. */
export function answerError(exchange: Exchange, thrown: unknown): Promise<void> | undefined {
  if (thrown instanceof ClientGoneError) {
    finishRecord(exchange, CLIENT_CLOSED_REQUEST);
    return undefined;
  }
  if (!(thrown instanceof AppError)) logBug(exchange, thrown);
  const error = thrown instanceof AppError ? asRefusal(exchange, thrown) : internalError(thrown);
  exchange.record.code = error.code;
  noticeUndeclared(exchange, error);
  const { response } = exchange;
  if (response.headersSent) {
    // A raw handler failed in the middle of its answer: cut, so that half of it is not taken for the whole.
    finishRecord(exchange, error.status);
    response.destroy();
    return undefined;
  }
  // What a handler, or an answer that could not be written, has left behind.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.statusMessage = '';
  return send(exchange, {
    status: error.status,
    body: renderProblem(exchange, error),
    contentType: PROBLEM_MEDIA_TYPE,
    headers: headersOf(exchange, error),
    limits: error.headers['RateLimit'] === undefined ? limitsOf(exchange) : undefined,
    // What a late body still has to say would be taken for the next request.
    closes: error.code === 'REQUEST_TIMEOUT',
    holdsSecret: false,
  });
}

function send(exchange: Exchange, unsent: Unsent): Promise<void> | undefined {
  const { services, pathHeaders, request } = exchange;
  const { compression } = services;
  const { body } = unsent;
  const headers = pathHeaders === undefined ? unsent.headers : { ...pathHeaders, ...unsent.headers };
  const encoding = compression && encodingFor(request, unsent, headers);
  if (compression === undefined || body === undefined || encoding === undefined || encoding === 'identity') {
    return write(exchange, unsent, { headers, body, encoding });
  }
  if (request.method === 'HEAD') return write(exchange, unsent, { headers, body, encoding });
  const compressing = compression.compress(body, encoding, unsent.compresses === true ? 'fast' : 'usual');
  if (compressing === undefined) return write(exchange, unsent, { headers, body, encoding: 'identity' });
  return compressing.then((compressed) =>
    compressed === undefined
      ? write(exchange, unsent, { headers, body, encoding: 'identity' })
      : write(exchange, unsent, { headers, body: compressed, encoding }),
  );
}

function write(
  exchange: Exchange,
  unsent: Unsent,
  { headers, body, encoding }: Pick<Answer, 'headers' | 'body' | 'encoding'>,
): undefined {
  const { services, response, echoedRequestId: requestId } = exchange;
  const closes = unsent.closes || services.draining;
  services.writer.write(response, { ...unsent, headers, body, encoding, requestId, closes });
  finishRecord(exchange, unsent.status);
  const { request, rawBody } = exchange;
  // A body that nobody wanted may still be on its way.
  if (!request.complete && rawBody.length === 0 && announcesBody(request)) discardBody(request);
}

/** An effect that nobody allowed, or nobody paid for, is a bug of the handler; the caller must not take it for success. */
function requireDecided(exchange: Exchange, status: number): void {
  if (status < 200 || status > 299) return;
  const route = exchange.mounted?.route;
  if (route?.permit === 'byHandler' && exchange.permitCalls !== 1) {
    throw new Error('The handler reached its reply without having called permit().');
  }
  if (route?.charge === 'byHandler' && exchange.chargeCalls !== 1) {
    throw new Error('The handler reached its reply without having called charge().');
  }
}

/** Lets the guard count a refusal that cost its caller nothing. */
function asRefusal(exchange: Exchange, error: AppError): AppError {
  const isCounted = exchange.isKnownCaller && !exchange.wasCharged && error.status < 500;
  return isCounted ? (exchange.guard.refused?.(exchange.caller, error) ?? error) : error;
}

function internalError(cause: unknown): AppError {
  return new AppError('INTERNAL', 'Something went wrong here. It has been logged under the id of this request.', {
    cause,
  });
}

function logBug(exchange: Exchange, thrown: unknown): void {
  const { requestId, record, services } = exchange;
  const stack = types.isNativeError(thrown)
    ? (thrown.stack ?? thrown.message)
    : 'something that is no Error was thrown';
  services.log.error('request_failed', { requestId, method: record.method, route: record.route, stack });
}

/** The answer is sent all the same: a document that leaves out a code is no reason to say less than is known. */
function noticeUndeclared(exchange: Exchange, { code }: AppError): void {
  const { mounted, services, record } = exchange;
  if (mounted === undefined || code === 'METHOD_NOT_ALLOWED' || mounted.errorCodes.has(code)) return;
  const key = `${record.route} ${code}`;
  if (services.undeclaredCodes.has(key)) return;
  services.undeclaredCodes.add(key);
  services.log.warn('undeclared_error_code', { method: record.method, route: record.route, code });
}

function renderProblem(exchange: Exchange, error: AppError): string {
  const made = problemOf(error, exchange.requestId);
  const problem = exchange.span === undefined ? made : { ...made, traceId: exchange.span.traceId };
  const decorate = exchange.mounted?.problem;
  if (decorate === undefined) return JSON.stringify(problem);
  try {
    return JSON.stringify(decorate(problem, error));
  } catch (bug) {
    logBug(exchange, bug);
    return JSON.stringify(problem);
  }
}

function headersOf(exchange: Exchange, error: AppError): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = { ...error.headers };
  if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
  // A route whose callers show who they are by other means than the guard's says so itself.
  if (error.code === 'UNAUTHENTICATED' && headers['WWW-Authenticate'] === undefined) {
    const metadata = exchange.mounted?.route.resourceMetadata;
    headers['WWW-Authenticate'] =
      `${exchange.services.guard?.challenge ?? 'Bearer'} realm="sealgate"` +
      (metadata === undefined ? '' : `, resource_metadata="${metadata}"`);
  }
  return headers;
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

/** Semantic conventions: only what is our fault fails the span of a server. */
function endSpan(span: Span, { route, status, code, records, replayed, outcome }: RequestRecord): void {
  span.set({
    'http.response.status_code': status,
    ...(route === 'none' ? {} : { 'http.route': route }),
    ...(code === undefined ? {} : { 'sealgate.problem.code': code }),
    ...(records === undefined ? {} : { 'sealgate.records': records }),
    ...(replayed === undefined ? {} : { 'sealgate.replayed': replayed }),
    ...(outcome === undefined ? {} : { 'sealgate.outcome': outcome }),
  });
  span.end(status >= 500 ? (code ?? String(status)) : undefined);
}
