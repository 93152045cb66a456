import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '@sealgate/errors';
import { type JsonValue, parseStrict, parseStrictInTurns } from '@sealgate/json';
import { contentCodingOf, decode, maxEncodedBytes, payloadTooLarge } from './content-coding.ts';
import type { Exchange } from './exchange.ts';
import { headerValues } from './header-values.ts';
import type { MountedRoute } from './mounted-route.ts';
import type { AnyRoute, BodyRequest, BodyShare, BodyTerms, PrefetchBody } from './route.ts';

/** The outcome of `readEarly`. */
export interface EarlyBody extends PrefetchBody {
  readonly isRead: boolean;
  readonly fault: AppError | undefined;
}

/** Larger bodies are read only after authentication. */
const EARLY_BODY_MAX_BYTES = 16_384;

/**
 * Before authentication on a route with `prefetch`: reads a small body that came with its headers from a caller who is
 * expected. Any other body stays unread. A fault of the body is returned, to be thrown when its turn comes.
 */
export async function readEarly(exchange: Exchange, mounted: MountedRoute): Promise<EarlyBody> {
  const { request, services, view } = exchange;
  // Node emits a request before it has parsed the body bytes of the same read.
  await Promise.resolve();
  const isThere = isBodyThere(request) && request.readableLength <= EARLY_BODY_MAX_BYTES;
  if (!isThere || exchange.guard.isExpected?.(view) === false) {
    // Reading or discarding the body later resumes the socket.
    if (!isThere) request.socket.pause();
    return { isRead: false, value: undefined, fault: undefined, readAtMs: services.now() };
  }
  let fault: AppError | undefined;
  try {
    const reading = takeBody(exchange, mounted);
    if (reading !== undefined) await reading;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    fault = error;
  }
  const value = fault === undefined ? (exchange.body as JsonValue) : undefined;
  return { isRead: true, value, fault, readAtMs: services.now() };
}

/** Reads the body, unless it was read before the request was restarted. Undefined if it was already there. */
export function readOnce(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const { route } = mounted;
  if (exchange.bodyReading === 'done') return undefined;
  const maxBytes = exchange.isProvisional ? termsOf(exchange, route).maxBytes : undefined;
  // A body refused for its size cannot be read later, so confirm the caller first, unless it certainly fits.
  if (maxBytes !== undefined && maxBytes < (route.bodyMaxBytes ?? 0) && !fits(exchange.request, maxBytes)) {
    return exchange.confirmCaller().then(() => readOnce(exchange, mounted));
  }
  exchange.bodyReading = 'begun';
  const reading = readInTurn(exchange, mounted);
  if (reading === undefined) exchange.bodyReading = 'done';
  return reading?.then(() => void (exchange.bodyReading = 'done'));
}

/** Whether the announced length of a body that is not encoded is within the limit. */
function fits({ headers }: IncomingMessage, maxBytes: number): boolean {
  return headers['content-encoding'] === undefined && Number(headers['content-length'] ?? Number.NaN) <= maxBytes;
}

/** Reads the body in its turn. A route with `prefetch` then looks up the key again, with what the body names. */
function readInTurn(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const reading = takeBody(exchange, mounted);
  if (mounted.route.prefetch === undefined) return reading;
  return Promise.resolve(reading).then(() =>
    exchange.authenticate({ value: exchange.body as JsonValue, readAtMs: exchange.services.now() }),
  );
}

/**
 * Reads the body of a route: media type (415), size (413), strict JSON (400), in that order. `json-bytes` and `bytes`
 * are not parsed.
 * @returns undefined if the body was already there, so that most requests need not await it.
 */
function takeBody(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const { request, response } = exchange;
  const { route } = mounted;
  if (route.bodyOptional === true && !announcesBody(request)) {
    exchange.body = {};
    return undefined;
  }
  const terms = termsOf(exchange, route);
  if (route.bodyOptional === true && !isJson(exchange, route) && request.headers['transfer-encoding'] !== undefined) {
    return requireEmpty(exchange, mounted, terms);
  }
  const isRaw = route.body === 'bytes';
  if (!isRaw) requireJson(exchange, route);
  const { maxBytes = route.bodyMaxBytes ?? 0, timeoutMs } = terms;
  const encoding = isRaw ? undefined : request.headers['content-encoding'];
  const coding = encoding === undefined ? 'identity' : contentCodingOf(encoding);
  const share = terms.share?.();
  // Its turn ends with the request.
  if (share !== undefined) exchange.endTurn = () => share.release();
  const limits = { namedMaxBytes: maxBytes, timeoutMs, share };
  if (coding !== 'identity') {
    const encoded = readBody(request, response, { ...limits, maxBytes: maxEncodedBytes(maxBytes) });
    return Promise.resolve(encoded)
      .then((bytes) => (bytes.length === 0 ? bytes : decode(bytes, coding, maxBytes)))
      .then((bytes) => parseBody(exchange, mounted, bytes));
  }
  const bytes = readBody(request, response, { ...limits, maxBytes });
  if (bytes instanceof Promise) return bytes.then((read) => parseBody(exchange, mounted, read));
  return parseBody(exchange, mounted, bytes);
}

const NO_TERMS: BodyTerms = {};

const termsOf = (exchange: Exchange, route: AnyRoute): BodyTerms =>
  route.bodyTerms?.(bodyRequestOf(exchange)) ?? NO_TERMS;

function bodyRequestOf(exchange: Exchange): BodyRequest<unknown> {
  const length = exchange.request.headers['content-length'];
  return {
    caller: exchange.caller,
    requestId: exchange.requestId,
    announcedBytes: length === undefined ? undefined : Number(length),
    header: (name) => exchange.header(name),
  };
}

/** Stands for all types that end in it, in `mediaTypes` of a route. */
export const JSON_SUFFIX = '+json';

function isJson({ request }: Exchange, { mediaTypes }: AnyRoute): boolean {
  const contentType = request.headers['content-type'];
  return contentType !== undefined && isJsonMediaType(contentType, mediaTypes?.includes(JSON_SUFFIX));
}

/** A chunked body may be empty, and an empty body needs no media type: refuse the media type at its first byte. */
async function requireEmpty(exchange: Exchange, { route }: MountedRoute, { timeoutMs }: BodyTerms): Promise<void> {
  const { request, response } = exchange;
  const limits = { maxBytes: 0, namedMaxBytes: route.bodyMaxBytes ?? 0, timeoutMs };
  try {
    await readBody(request, response, limits);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'PAYLOAD_TOO_LARGE') throw error;
    requireJson(exchange, route);
  }
  exchange.body = {};
}

function requireJson(exchange: Exchange, route: AnyRoute): void {
  if (isJson(exchange, route)) return;
  const orSuffix = route.mediaTypes?.includes(JSON_SUFFIX) === true ? ' or a type that ends in +json,' : '';
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', `The body must be sent as application/json${orSuffix} in UTF-8.`);
}

/** Larger bodies are parsed over several turns of the event loop. */
const LARGE_BODY_BYTES = 16_384;

function parseBody(exchange: Exchange, mounted: MountedRoute, bytes: Buffer): Promise<void> | undefined {
  exchange.rawBody = bytes;
  exchange.record.bytesIn = bytes.length;
  const { body } = mounted.route;
  if (body === 'bytes' || (bytes.length > 0 && body === 'json-bytes')) return undefined;
  if (bytes.length > LARGE_BODY_BYTES) return parseLarge(exchange, bytes);
  if (bytes.length > 0) {
    exchange.body = parseStrict(bytes);
  } else if (mounted.route.bodyOptional === true) {
    exchange.body = {};
  } else {
    throw new AppError('INVALID_JSON', 'The body is empty.', {
      faults: [{ in: 'body', pointer: '', detail: 'is empty' }],
    });
  }
  return undefined;
}

async function parseLarge(exchange: Exchange, bytes: Buffer): Promise<void> {
  exchange.endTurn = await exchange.services.bodyTurns?.take(bytes.length);
  exchange.body = await parseStrictInTurns(bytes, () => nextTurn());
}

/** @throws AppError INVALID_HEADER when a header is repeated that Node would silently drop. */
export function requireSingleHeaders(exchange: Exchange): void {
  const { rawHeaders } = exchange.request;
  for (const name of ['content-type', 'if-match'] as const) {
    if (headerValues(rawHeaders, name).length <= 1) continue;
    throw new AppError('INVALID_HEADER', `The header ${name} may be sent once.`, {
      faults: [{ in: 'header', pointer: `/${name}`, detail: 'may be sent once' }],
    });
  }
}

/** RFC 9110 section 8.3.1: a type, then parameters whose values are tokens or quoted strings. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** White space is matched in only one way, so that the pattern never backtracks. */
const PARAMETER = `[\\t ]*;(?:[\\t ]*(${TOKEN})=(${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?`;
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})((?:${PARAMETER})*)[\\t ]*$`);
const EACH_PARAMETER = new RegExp(PARAMETER, 'g');

/** Node bounds all headers together; a longer media type is invalid. */
const MAX_MEDIA_TYPE_LENGTH = 1024;

const JSON_TYPE = /^application\/json$/i;
/** RFC 6839, section 3.1. */
const JSON_OR_SUFFIX = /^(?:application\/json|[^/]+\/[^/]+\+json)$/i;

/**
 * Whether a Content-Type is `application/json` in any case, with no charset or utf-8; with `orSuffix` also any type
 * that ends in `+json`. Other parameters are ignored.
 */
export function isJsonMediaType(contentType: string, orSuffix = false): boolean {
  if (contentType === 'application/json') return true;
  const type = utf8MediaType(contentType);
  return type !== undefined && (orSuffix ? JSON_OR_SUFFIX : JSON_TYPE).test(type);
}

/** The media type of a Content-Type in lower case; undefined if it is malformed or its charset is not UTF-8. */
export function utf8MediaType(contentType: string): string | undefined {
  if (contentType.length > MAX_MEDIA_TYPE_LENGTH) return undefined;
  const match = MEDIA_TYPE.exec(contentType);
  if (match === null) return undefined;
  for (const [, name, value] of (match[2] ?? '').matchAll(EACH_PARAMETER)) {
    if (name?.toLowerCase() === 'charset' && !isUtf8(value ?? '')) return undefined;
  }
  return (match[1] ?? '').toLowerCase();
}

function isUtf8(charset: string): boolean {
  const bare = charset.startsWith('"') ? charset.slice(1, -1).replaceAll(/\\(.)/g, '$1') : charset;
  // The name without a hyphen is not registered, but common.
  return /^utf-?8$/i.test(bare);
}

/** Bytes of a refused body that are discarded, so that the sender can read the refusal. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** The client disconnected before it sent the whole body. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

interface BodyLimits {
  readonly maxBytes: number;
  /** The limit named in a 413, for the decoded body. */
  readonly namedMaxBytes: number;
  readonly timeoutMs: number | undefined;
  readonly share?: BodyShare | undefined;
}

/** By connection: what to do on the server's request timeout while a body is pending. */
const pending = new WeakMap<object, () => void>();

/** Requests that wait for 100 Continue before they send the body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

export function markAwaitingContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/**
 * Times out the pending body of this connection: with 408, or silently if the request was already answered.
 * @returns whether a body was pending.
 */
export function expireBody(socket: object): boolean {
  const expire = pending.get(socket);
  expire?.();
  return expire !== undefined;
}

/** Whether the request announces a body. */
export function announcesBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

/** Whether the whole body has arrived; Node sets `complete` slightly after the last byte. */
function isBodyThere(request: IncomingMessage): boolean {
  return request.complete || request.readableLength === Number(request.headers['content-length']);
}

/**
 * The bytes of the body. Most bodies arrive in one packet with their headers and are returned synchronously.
 *
 * Rejects with PAYLOAD_TOO_LARGE at the first byte beyond the limit, REQUEST_TIMEOUT, and ClientGoneError when the
 * client disconnects. It cannot hang: the server's request timeout ends it.
 */
function readBody(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Buffer | Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limits.maxBytes) throw payloadTooLarge(limits.namedMaxBytes);
  if (isBodyThere(request)) {
    const bytes: unknown = request.read();
    // Only the end event is left; consume it, so that the stream is released.
    if (!request.complete) request.resume();
    // Null if the body is empty.
    if (!(bytes instanceof Buffer)) return Buffer.alloc(0);
    limits.share?.arrived(bytes.length);
    if (bytes.length > limits.maxBytes) throw payloadTooLarge(limits.namedMaxBytes);
    return bytes;
  }
  if (request.headers.expect !== undefined && awaitingContinue.has(request)) response.writeContinue();
  return collect(request, limits);
}

/** Discards the rest of a refused request's body, and closes the connection beyond the limit. */
export function discardBody(request: IncomingMessage): void {
  const { socket } = request;
  let discarded = 0;
  pending.set(socket, () => request.destroy());
  request.on('end', () => pending.delete(socket));
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) request.destroy();
  });
}

function collect(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { socket } = request;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = () => {
      clearTimeout(timer);
      pending.delete(socket);
      limits.share?.onCut?.(undefined);
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      // A request destroyed later still emits an error, which is ignored.
      request.on('error', () => undefined);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      const refusal = size > limits.maxBytes ? payloadTooLarge(limits.namedMaxBytes) : refusalBy(limits.share, size);
      if (refusal === undefined) chunks.push(chunk);
      else fail(refusal);
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    };
    const onGone = () => fail(new ClientGoneError('The client went away.'));
    const timer =
      limits.timeoutMs === undefined ? undefined : setTimeout(() => fail(requestTimeout()), limits.timeoutMs);
    pending.set(socket, () => fail(requestTimeout()));
    limits.share?.onCut?.(fail);
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    if (request.destroyed && !request.complete) onGone();
  });
}

function refusalBy(share: BodyShare | undefined, bytes: number): Error | undefined {
  try {
    share?.arrived(bytes);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function requestTimeout(): AppError {
  return new AppError('REQUEST_TIMEOUT', 'The request did not arrive in time.');
}
