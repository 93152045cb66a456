import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants, gunzip, gzip, inflate, inflateRaw } from 'node:zlib';
import { AppError } from '@sealgate/errors';
import express, { type Request } from 'express';
import type { Answer } from './route.ts';

/** Content codings accepted in requests, in the order in which a 415 lists them. */
const CONTENT_CODINGS = ['gzip', 'deflate', 'br'] as const;
type ContentCoding = (typeof CONTENT_CODINGS)[number];

/** RFC 9110 section 8.4.1.3: `x-gzip` is equivalent. `identity` is what clients send who mean none. */
const OTHER_NAMES: Readonly<Record<string, ContentCoding | 'identity'>> = { 'x-gzip': 'gzip', identity: 'identity' };

const gunzipBytes = promisify(gunzip);
const inflateBytes = promisify(inflate);
const inflateRawBytes = promisify(inflateRaw);
const brotliBytes = promisify(brotliDecompress);

/** @throws AppError UNSUPPORTED_MEDIA_TYPE unless the header names exactly one supported coding. */
export function contentCodingOf(header: string): ContentCoding | 'identity' {
  const wanted = header.trim().toLowerCase();
  const other = Object.hasOwn(OTHER_NAMES, wanted) ? OTHER_NAMES[wanted] : undefined;
  const coding = other ?? CONTENT_CODINGS.find((known) => known === wanted);
  if (coding !== undefined) return coding;
  throw new AppError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Content-Encoding may be one of gzip, deflate, br and identity, or absent.',
    {
      headers: { 'Accept-Encoding': CONTENT_CODINGS.join(', ') },
    },
  );
}

/**
 * Maximum encoded size of a body of `maxBytes`. Incompressible data grows slightly when encoded, so the limit itself
 * would refuse bodies that fit.
 */
export function maxEncodedBytes(maxBytes: number): number {
  return maxBytes + Math.ceil(maxBytes / 16) + 1024;
}

/**
 * Decodes a body. zlib stops once its output exceeds `maxBytes`, so a decompression bomb costs no more memory than an
 * allowed body.
 * @throws AppError PAYLOAD_TOO_LARGE beyond the limit, INVALID_JSON when the bytes are not of that coding.
 */
export async function decode(encoded: Buffer, coding: ContentCoding, maxBytes: number): Promise<Buffer> {
  try {
    return await decoderOf(encoded, coding)(encoded, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw payloadTooLarge(maxBytes);
    throw new AppError('INVALID_JSON', `The body is not valid ${coding}, its Content-Encoding.`, {
      faults: [{ in: 'body', pointer: '', detail: `is not valid ${coding} data` }],
      cause,
    });
  }
}

export function payloadTooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body may hold at most ${maxBytes} bytes.`);
}

function decoderOf(encoded: Buffer, coding: ContentCoding) {
  if (coding === 'gzip') return gunzipBytes;
  if (coding === 'br') return brotliBytes;
  // RFC 9110 means the zlib format, which starts with method 8; some clients send a raw deflate stream.
  return ((encoded[0] ?? 0) & 0x0f) === 8 ? inflateBytes : inflateRawBytes;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Content codings of answers, in our order of preference where the client has none (`*`). */
const ANSWER_CODINGS = ['br', 'gzip'] as const;
export type AnswerCoding = (typeof ANSWER_CODINGS)[number];

/** Bodies up to this size are not compressed. */
const COMPRESSED_ABOVE_BYTES = 1024;

/** Concurrent compressions and their total bytes. Beyond it, answers are sent uncompressed; nothing queues. */
const MAX_CONCURRENT = 16;
const MAX_CONCURRENT_BYTES = 16_777_216;

/** Longer headers are ignored, because parsing happens before any charge. Browsers send about 25 characters. */
const MAX_ACCEPT_ENCODING_LENGTH = 256;

const COMPRESSIBLE = /^(?:text\/|application\/(?:json|jose|[\w.-]+\+json)(?:;|$))/i;

/**
 * `fast` is for replies with `compresses`, such as entries of a log, most of which are sent a few times: a few percent
 * longer.
 */
const GZIP_LEVELS = { usual: 5, fast: 1 } as const;
const BROTLI_QUALITIES = { usual: 4, fast: 1 } as const;
type CompressionEffort = keyof typeof GZIP_LEVELS;

/** Compresses answers with zlib on the libuv thread pool. One instance per app. */
export class Compression {
  /** Cache for constant documents: a Buffer that is sent again is compressed once per coding. */
  readonly #compressed = new WeakMap<Buffer, Map<AnswerCoding, Buffer>>();
  #answers = 0;
  #bytes = 0;

  /** Undefined if the limits are reached or compression fails. Never rejects. */
  compress(
    body: string | Buffer,
    coding: AnswerCoding,
    effort: CompressionEffort = 'usual',
  ): Promise<Buffer | undefined> | undefined {
    const kept = typeof body === 'string' ? undefined : this.#compressed.get(body)?.get(coding);
    if (kept !== undefined) return Promise.resolve(kept);
    const bytes = Buffer.byteLength(body);
    if (this.#answers >= MAX_CONCURRENT || this.#bytes + bytes > MAX_CONCURRENT_BYTES) return undefined;
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
 * Chooses the content coding of an answer. Undefined if it does not depend on Accept-Encoding, so it needs no Vary:
 * short answers; bytes without `compresses`; answers with a secret, whose compressed length would leak it (BREACH); and
 * answers with a strong ETag, which identifies bytes (RFC 9110 section 8.8.3) and is compared by If-Match. An answer
 * with a weak ETag may be longer the next time, and a 304 carries the headers of its 200.
 */
export function encodingFor(
  request: IncomingMessage,
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

/** A client that refuses all our codings gets the answer uncompressed, not a 406. */
function acceptedBy(request: IncomingMessage): AnswerCoding | 'identity' {
  const wanted = request.headers['accept-encoding'];
  if (wanted === undefined || wanted.length > MAX_ACCEPT_ENCODING_LENGTH) return 'identity';
  const accepted = express.request.acceptsEncodings.call(request as Request, ...ANSWER_CODINGS, 'identity');
  return ANSWER_CODINGS.find((coding) => coding === accepted) ?? 'identity';
}
