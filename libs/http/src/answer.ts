import type { ServerResponse } from 'node:http';
import type { AnswerCoding } from './compression.ts';
import type { RateLimitHeaders } from './guard.ts';

/** All of one answer but what the connection adds. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer | undefined;
  readonly contentType: string;
  readonly requestId: string;
  readonly limits: RateLimitHeaders | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly closes: boolean;
  /** It holds what nobody else may learn, and is not compressed. */
  readonly holdsSecret: boolean;
  /** It is compressed whatever its media type says. */
  readonly compresses?: boolean;
  /** Undefined where nobody gets it compressed. A body for HEAD has not been, so that its length is not known. */
  readonly encoding: AnswerCoding | 'identity' | undefined;
}

/** Node writes headers together with a text, in UTF-8, and with bytes as they are. */
// eslint-disable-next-line no-control-regex -- ASCII is what is meant
const BEYOND_ASCII = /[^\x00-\x7f]/;

const NO_STORE = ['Cache-Control', 'no-store'] as const;
const VARY = ['Vary', 'Accept-Encoding'] as const;

/** Writes answers. The headers that never change are worked out once and go out in the one `writeHead` of the answer. */
export class AnswerWriter {
  readonly #constant: readonly string[];

  constructor(constantHeaders: readonly string[]) {
    this.#constant = constantHeaders;
  }

  /** Node sends no body for HEAD, 204 and 304, and a HEAD answer keeps the Content-Length of its GET, where it is known. */
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

  /** For a handler that writes its own answer: sets what every answer carries. */
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
  let saysHowToCache = false;
  let vary: string | undefined = varies ? VARY[1] : undefined;
  for (const name in headers) {
    const lowerCase = name.toLowerCase();
    saysHowToCache ||= lowerCase === 'cache-control';
    if (vary !== undefined && lowerCase === 'vary') vary = `${headers[name]}, ${vary}`;
    else list.push(name, headers[name] ?? '');
  }
  if (vary !== undefined) list.push(VARY[0], vary);
  if (!saysHowToCache) list.push(...NO_STORE);
}
