import { randomBytes } from 'node:crypto';
import { clientAddressOf, type RoutedRequest } from './direct-routes.ts';
import type { AuthRequest, LookedAhead } from './guard.ts';

/** What authentication sees of a request. */
export class RequestView implements AuthRequest {
  readonly #request: RoutedRequest;
  ahead: LookedAhead | undefined = undefined;

  constructor(request: RoutedRequest) {
    this.#request = request;
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
    return clientAddressOf(this.#request) ?? this.socketAddress;
  }
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The caller's X-Request-Id where it can be echoed, else one of ours. Sent twice, it holds a comma and a space. */
export function requestIdOf(header: string | undefined, newRequestId: () => string): string {
  return header !== undefined && REQUEST_ID.test(header) ? header : newRequestId();
}

/** Everything that Node lets a header hold; a byte beyond ASCII is one character. */
const ANY_REQUEST_ID = /^[\t\x20-\x7e\x80-\xff]{1,1024}$/;

/**
 * The caller's X-Request-Id as it came, for routes whose protocol says that it is echoed whatever it holds. It goes into
 * that one header and nowhere else. Undefined where there is none, more than one, or one of more than 1 KiB.
 */
export function exactRequestId(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  return value !== undefined && headerValues.length === 1 && ANY_REQUEST_ID.test(value) ? value : undefined;
}

const NONE: readonly string[] = [];

/**
 * Whether If-None-Match names this entity tag, which makes the answer a 304: `*` or any of them, compared weakly (RFC 9110,
 * section 13.1.2). Ours hold no comma.
 */
export function isKnownTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => bare(one) === bare(etag));
}

/**
 * Every value of one header, in order, from `rawHeaders`. `request.headers` cannot tell: of some headers it keeps the
 * first and drops the others without a word. `name` is lower case.
 */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] ?? '';
    if (candidate.length !== name.length) continue;
    if (candidate !== name && candidate.toLowerCase() !== name) continue;
    const value = rawHeaders[i + 1] ?? '';
    if (values === undefined) values = [value];
    else values.push(value);
  }
  return values ?? NONE;
}

/** W3C Trace Context, section 3.2: version, trace-id, parent-id, flags; later versions may add fields. */
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

/** A traceparent for a request that came without one. Not sampled: nobody upstream asked for it. */
export function newTraceparent(): string {
  const bytes = randomBytes(24).toString('hex');
  return `00-${bytes.slice(0, 32)}-${bytes.slice(32)}-00`;
}
