import type { ServerResponse } from 'node:http';
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
}

/** What the kernel takes at once needs no watch. */
const LARGE_ANSWER_BYTES = 65_536;

const NO_STORE = ['Cache-Control', 'no-store'] as const;

/** Writes answers. The headers that never change are worked out once and go out in the one `writeHead` of the answer. */
export class AnswerWriter {
  readonly #constant: readonly string[];
  readonly #slowReaderMs: number;

  constructor(constantHeaders: readonly string[], slowReaderMs: number) {
    this.#constant = constantHeaders;
    this.#slowReaderMs = slowReaderMs;
  }

  /** The header block of a refusal that Node's parser makes, where there is no response to write to. */
  get rawHeaderLines(): string {
    let lines = '';
    for (let i = 0; i + 1 < this.#constant.length; i += 2)
      lines += `${this.#constant[i]}: ${this.#constant[i + 1]}\r\n`;
    return lines;
  }

  /** Node sends no body for HEAD, 204 and 304, and a HEAD answer keeps the Content-Length of its GET. */
  write(response: ServerResponse, answer: Answer): void {
    const { status, body, limits, headers } = answer;
    const list = this.#constant.slice();
    list.push('X-Request-Id', answer.requestId);
    if (limits !== undefined) list.push('RateLimit-Policy', limits['RateLimit-Policy'], 'RateLimit', limits.RateLimit);
    if (status !== 204 && status !== 304) {
      if (body !== undefined) list.push('Content-Type', answer.contentType);
      list.push('Content-Length', String(lengthOf(body)));
    }
    if (answer.closes) list.push('Connection', 'close');
    if (headers === undefined) list.push(...NO_STORE);
    else pushHeaders(list, headers);
    response.writeHead(status, list);
    response.end(body);
    // Else whoever asks and never reads keeps the answer in memory for ever. Node ends this watch with the answer.
    if (lengthOf(body) > LARGE_ANSWER_BYTES) response.socket?.setTimeout(this.#slowReaderMs);
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

function pushHeaders(list: string[], headers: Readonly<Record<string, string>>): void {
  let saysHowToCache = false;
  for (const name in headers) {
    list.push(name, headers[name] ?? '');
    saysHowToCache ||= name.toLowerCase() === 'cache-control';
  }
  if (!saysHowToCache) list.push(...NO_STORE);
}
