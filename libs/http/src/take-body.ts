import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '@sealgate/errors';
import { parseStrict, parseStrictInTurns } from '@sealgate/json';
import { contentCodingOf, decode, maxEncodedBytes } from './content-coding.ts';
import type { Exchange } from './exchange.ts';
import { isJsonMediaType } from './media-type.ts';
import type { MountedRoute } from './mounted-route.ts';
import { announcesBody, readBody } from './read-body.ts';
import { headerValues } from './request-headers.ts';
import type { AnyRoute } from './route.ts';

/**
 * Reads the body of a route that has one: media type (415), size (413), strict JSON (400), in that order. A handler that
 * takes `json-bytes` is given them unparsed, one that takes `bytes` whatever has come.
 * @returns undefined when it was there already, so that most requests need not wait for it.
 */
export function takeBody(exchange: Exchange, mounted: MountedRoute): Promise<void> | undefined {
  const { request, response } = exchange;
  const { route } = mounted;
  if (route.bodyOptional === true && !announcesBody(request)) {
    exchange.body = {};
    return undefined;
  }
  if (route.bodyOptional === true && !isJson(exchange, route) && request.headers['transfer-encoding'] !== undefined) {
    return takeNothing(exchange, mounted);
  }
  const isRaw = route.body === 'bytes';
  if (!isRaw) requireJson(exchange, route);
  const maxBytes = route.bodyMaxBytesOf?.(exchange.caller) ?? route.bodyMaxBytes ?? 0;
  const encoding = isRaw ? undefined : request.headers['content-encoding'];
  const limits = { namedMaxBytes: maxBytes, timeoutMs: route.bodyTimeoutMs };
  if (encoding !== undefined) {
    const coding = contentCodingOf(encoding);
    const encoded = readBody(request, response, { ...limits, maxBytes: maxEncodedBytes(maxBytes) });
    return Promise.resolve(encoded)
      .then((bytes) => (bytes.length === 0 ? bytes : decode(bytes, coding, maxBytes)))
      .then((bytes) => parseBody(exchange, mounted, bytes));
  }
  const bytes = readBody(request, response, { ...limits, maxBytes });
  if (bytes instanceof Promise) return bytes.then((read) => parseBody(exchange, mounted, read));
  return parseBody(exchange, mounted, bytes);
}

function isJson({ request }: Exchange, { jsonSuffix }: AnyRoute): boolean {
  const contentType = request.headers['content-type'];
  return contentType !== undefined && isJsonMediaType(contentType, jsonSuffix);
}

/** A chunked body may turn out to be none, and none needs no media type: its first byte is what is refused for it. */
async function takeNothing(exchange: Exchange, { route }: MountedRoute): Promise<void> {
  const { request, response } = exchange;
  const limits = { maxBytes: 0, namedMaxBytes: route.bodyMaxBytes ?? 0, timeoutMs: route.bodyTimeoutMs };
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
  const types = route.jsonSuffix === true ? 'application/json or a type that ends in +json,' : 'application/json';
  throw new AppError(route.wrongMediaType ?? 'UNSUPPORTED_MEDIA_TYPE', `The body must be sent as ${types} in UTF-8.`);
}

/** From here on a body is worth more than one turn of the event loop. */
const LARGE_BODY_BYTES = 16_384;

function parseBody(exchange: Exchange, mounted: MountedRoute, bytes: Buffer): Promise<void> | undefined {
  exchange.rawBody = bytes;
  exchange.record.bytesIn = bytes.length;
  const { body } = mounted.route;
  if (body === 'bytes' || (bytes.length > 0 && body === 'json-bytes')) return undefined;
  if (bytes.length > LARGE_BODY_BYTES) return parseLarge(exchange, mounted, bytes);
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

async function parseLarge(exchange: Exchange, mounted: MountedRoute, bytes: Buffer): Promise<void> {
  exchange.endTurn = await mounted.route.bodyTurns?.take(bytes.length);
  exchange.body = await parseStrictInTurns(bytes, () => nextTurn());
}

/** @throws AppError INVALID_HEADER when a header that Node would quietly drop came twice. */
export function requireSingleHeaders(exchange: Exchange): void {
  const { rawHeaders } = exchange.request;
  for (const name of ['content-type', 'if-match'] as const) {
    if (headerValues(rawHeaders, name).length <= 1) continue;
    throw new AppError('INVALID_HEADER', `The header ${name} may be sent once.`, {
      faults: [{ in: 'header', pointer: `/${name}`, detail: 'may be sent once' }],
    });
  }
}
