import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Answer } from './answer.ts';
import { acceptedCodingOf, type RoutedRequest } from './direct-routes.ts';

/** The codings that answers are sent in, in the order of preference where a client likes them equally (`*`). */
const ANSWER_CODINGS = ['br', 'gzip'] as const;
export type AnswerCoding = (typeof ANSWER_CODINGS)[number];

/** What is not longer is sent as it is. */
const COMPRESSED_ABOVE_BYTES = 1024;

/** Answers, and their bytes, that are compressed at the same time. More are sent as they are: nothing queues here. */
const MOST_AT_ONCE = 16;
const MOST_BYTES_AT_ONCE = 16_777_216;

/** Parsing costs time that nobody has been charged for yet. Browsers send some 25 characters. */
const LONGEST_ACCEPT_ENCODING = 256;

const COMPRESSIBLE = /^(?:text\/|application\/(?:json|jose|[\w.-]+\+json)(?:;|$))/i;

/** Bytes that say that they compress are made for this answer, like tiles: as fast as it goes, a few percent longer. */
const GZIP_LEVELS = { usual: 5, fast: 1 } as const;
const BROTLI_QUALITIES = { usual: 4, fast: 1 } as const;
export type CompressionEffort = keyof typeof GZIP_LEVELS;

/** Compresses answers with zlib, on the threads of libuv. One for each app. */
export class Compression {
  /** Documents that never change are one Buffer, and compressed once, so that asking for them again costs nothing. */
  readonly #compressed = new WeakMap<Buffer, Map<AnswerCoding, Buffer>>();
  #answers = 0;
  #bytes = 0;

  /** Undefined where there is no room for another one at present, or no memory. Never rejects. */
  compress(
    body: string | Buffer,
    coding: AnswerCoding,
    effort: CompressionEffort = 'usual',
  ): Promise<Buffer | undefined> | undefined {
    const kept = typeof body === 'string' ? undefined : this.#compressed.get(body)?.get(coding);
    if (kept !== undefined) return Promise.resolve(kept);
    const bytes = Buffer.byteLength(body);
    if (this.#answers >= MOST_AT_ONCE || this.#bytes + bytes > MOST_BYTES_AT_ONCE) return undefined;
    this.#answers += 1;
    this.#bytes += bytes;
    return new Promise((resolve) => {
      const done = (error: Error | null, compressed: Buffer): void => {
        this.#answers -= 1;
        this.#bytes -= bytes;
        if (error === null && typeof body !== 'string') this.#keep(body, coding, compressed);
        resolve(error === null ? compressed : undefined);
      };
      if (coding === 'gzip') gzip(body, { level: GZIP_LEVELS[effort] }, done);
      else brotliCompress(body, { params: brotliParams(bytes, effort) }, done);
    });
  }

  #keep(body: Buffer, coding: AnswerCoding, compressed: Buffer): void {
    const codings = this.#compressed.get(body);
    if (codings === undefined) this.#compressed.set(body, new Map([[coding, compressed]]));
    else codings.set(coding, compressed);
  }
}

function brotliParams(bytes: number, effort: CompressionEffort): Record<number, number> {
  return { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITIES[effort], [constants.BROTLI_PARAM_SIZE_HINT]: bytes };
}

/**
 * The coding to send an answer in; undefined where it is the same for everybody, so that caches need not tell clients
 * apart. That is so where it is short, or bytes that do not say that they compress; where it holds a secret, whose length would tell of it (BREACH); and
 * where its ETag is strong: that names bytes (RFC 9110 section 8.8.3), and is what If-Match is compared with. What has a
 * weak ETag may be longer the next time, and a 304 says what its 200 would.
 */
export function encodingFor(
  request: RoutedRequest,
  {
    status,
    body,
    contentType,
    holdsSecret,
    compresses = false,
  }: Pick<Answer, 'status' | 'body' | 'contentType' | 'holdsSecret' | 'compresses'>,
  headers: Answer['headers'],
): AnswerCoding | 'identity' | undefined {
  const isLong = body !== undefined && Buffer.byteLength(body) > COMPRESSED_ABOVE_BYTES;
  const etag = etagOf(headers);
  if (!isLong && etag === undefined) return undefined;
  if (holdsSecret || status === 204 || !(compresses || COMPRESSIBLE.test(contentType))) return undefined;
  if (etag !== undefined && !etag.startsWith('W/')) return undefined;
  return isLong ? acceptedBy(request) : 'identity';
}

function etagOf(headers: Answer['headers']): string | undefined {
  for (const name in headers) if (name.length === 4 && name.toLowerCase() === 'etag') return headers[name];
  return undefined;
}

/** Whoever refuses everything that we have gets it as it is: a 406 would help nobody. */
function acceptedBy(request: RoutedRequest): AnswerCoding | 'identity' {
  const wanted = request.headers['accept-encoding'];
  if (wanted === undefined || wanted.length > LONGEST_ACCEPT_ENCODING) return 'identity';
  const accepted = acceptedCodingOf(request, [...ANSWER_CODINGS, 'identity']);
  return ANSWER_CODINGS.find((coding) => coding === accepted) ?? 'identity';
}
