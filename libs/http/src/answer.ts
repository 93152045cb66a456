import type { ServerResponse } from 'node:http';
import { PROBLEM_MEDIA_TYPE } from '@sealgate/errors';
import { sha256 } from '@sealgate/json';
import type { RequestRecord, Span } from '@sealgate/observability';
import { type AnswerCoding, encodingFor } from './content-coding.ts';
import type { Exchange } from './exchange.ts';
import type { RateLimitHeaders } from './guard.ts';
import { refusalHeaders, refusalOf, renderProblem } from './problems.ts';
import { announcesBody, ClientGoneError, discardBody } from './read-body.ts';
import type { Reply } from './route.ts';

/** Logged when the client has gone; never sent. */
const CLIENT_CLOSED_REQUEST = 499;

const JSON_MEDIA_TYPE = 'application/json';

/** An answer before `send` completes it. */
type Unsent = Omit<Answer, 'requestId' | 'encoding'>;

/** Sends the handler's reply: at once, or after compression if a promise is returned. */
export function answerReply(exchange: Exchange, reply: Reply): Promise<void> | undefined {
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
export function prepareRaw(exchange: Exchange): void {
  const { writer, draining } = exchange.services;
  writer.prepare(exchange.response, {
    requestId: exchange.echoedRequestId,
    limits: limitsOf(exchange),
    closes: draining,
  });
  for (const [name, value] of Object.entries(exchange.pathHeaders ?? {})) exchange.response.setHeader(name, value);
}

/** Completes the record of a raw handler's request. Its response may still be in flight. */
export function finishRaw(exchange: Exchange): void {
  if (!exchange.response.headersSent) throw new Error('The raw handler wrote no answer.');
  finishRecord(exchange, exchange.response.statusCode);
}

/** Sends a problem for anything thrown. A bug is logged once, and its answer reveals nothing. */
export function answerError(exchange: Exchange, thrown: unknown): Promise<void> | undefined {
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
  // An unread body may still be arriving.
  if (!request.complete && rawBody.length === 0 && announcesBody(request)) discardBody(request);
}

/** A reply without permission check or charge is a bug of the handler and must not look like success. */
function requirePermitAndCharge(exchange: Exchange, status: number): void {
  if (status < 200 || status > 299) return;
  const route = exchange.mounted?.route;
  if (route?.permit === 'byHandler' && exchange.permitCalls !== 1) {
    throw new Error('The handler reached its reply without having called permit().');
  }
  if (route?.charge === 'byHandler' && exchange.chargeCalls !== 1) {
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

/** A response, except for what Node adds to it. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer | undefined;
  readonly contentType: string;
  readonly requestId: string;
  readonly limits: RateLimitHeaders | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly closes: boolean;
  /** It contains a secret and is never compressed. */
  readonly holdsSecret: boolean;
  /** Compress it whatever its media type. */
  readonly compresses?: boolean;
  /**
   * Undefined where the answer never varies by Accept-Encoding. The body of a compressed HEAD answer is not compressed,
   * so its length is unknown.
   */
  readonly encoding: AnswerCoding | 'identity' | undefined;
}

/**
 * Node encodes headers and a string body together as UTF-8, which breaks a latin-1 header. A Buffer body avoids that.
 */
// eslint-disable-next-line no-control-regex -- matches all of ASCII
const BEYOND_ASCII = /[^\x00-\x7f]/;

const NO_STORE = ['Cache-Control', 'no-store'] as const;
const VARY = ['Vary', 'Accept-Encoding'] as const;

/** Writes answers. Constant headers are prepared once; each answer is one `writeHead`. */
export class AnswerWriter {
  readonly #constant: readonly string[];

  constructor(constantHeaders: readonly string[]) {
    this.#constant = constantHeaders;
  }

  /** Node sends no body for HEAD, 204 and 304. A HEAD answer keeps the Content-Length of its GET if it is known. */
  write(response: ServerResponse, answer: Answer): void {
    const { status, body, limits, headers, encoding } = answer;
    const isCompressed = encoding !== undefined && encoding !== 'identity';
    const list = this.#constant.slice();
    list.push('X-Request-Id', answer.requestId);
    if (limits !== undefined) list.push('RateLimit-Policy', limits['RateLimit-Policy'], 'RateLimit', limits.RateLimit);
    if (status !== 204 && status !== 304) {
      if (body !== undefined) list.push('Content-Type', answer.contentType);
      if (isCompressed) list.push('Content-Encoding', encoding);
      if (!isCompressed || response.req.method !== 'HEAD') list.push('Content-Length', String(lengthOf(body)));
    }
    if (answer.closes) list.push('Connection', 'close');
    if (headers !== undefined) pushHeaders(list, headers, encoding !== undefined);
    else if (encoding === undefined) list.push(...NO_STORE);
    else list.push(...NO_STORE, ...VARY);
    response.writeHead(status, list);
    response.end(typeof body === 'string' && BEYOND_ASCII.test(answer.requestId) ? Buffer.from(body) : body);
  }

  /** For raw handlers: sets the common headers on the response. */
  prepare(response: ServerResponse, answer: Pick<Answer, 'requestId' | 'limits' | 'closes'>): void {
    for (let i = 0; i + 1 < this.#constant.length; i += 2) {
      response.setHeader(this.#constant[i] ?? '', this.#constant[i + 1] ?? '');
    }
    response.setHeader('X-Request-Id', answer.requestId);
    response.setHeader(...NO_STORE);
    if (answer.closes) response.setHeader('Connection', 'close');
    if (answer.limits === undefined) return;
    response.setHeader('RateLimit-Policy', answer.limits['RateLimit-Policy']);
    response.setHeader('RateLimit', answer.limits.RateLimit);
  }
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

/**
 * The weak entity tag of a content (RFC 9110 section 8.8.1): bytes may differ under it, by response time or content
 * coding. For stored bytes that never change, use a strong tag.
 */
export const weakTag = (content: string | Buffer): string => `W/"${sha256(content).toString('base64url')}"`;

/** The answer to GET of a document that caches may keep for a while and then revalidate. */
export function publicDocument(
  body: string | Buffer,
  { ifNoneMatch, maxAgeSeconds, contentType }: PublicDocumentOptions,
): Reply & { readonly status: 200 | 304 } {
  const tag = weakTag(body);
  const headers = { 'Cache-Control': `public, max-age=${maxAgeSeconds}`, ETag: tag };
  if (isKnownTag(ifNoneMatch, tag)) return { status: 304, headers };
  return { status: 200, body, headers, ...(contentType !== undefined && { contentType }) };
}

interface PublicDocumentOptions {
  /** If-None-Match as sent. */
  readonly ifNoneMatch: string | undefined;
  readonly maxAgeSeconds: number;
  /** Absent: `application/json`. */
  readonly contentType?: string;
}

/**
 * Whether If-None-Match matches this entity tag, so that the answer is a 304: `*` or any listed tag, by weak comparison
 * (RFC 9110 section 13.1.2). Our tags contain no comma.
 */
export function isKnownTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => bare(tag) === bare(etag));
}
