import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { AppError } from '@sealgate/errors';

/** The content codings that are undone, in the order in which a 415 names them. */
const CONTENT_CODINGS = ['gzip', 'deflate', 'br'] as const;
export type ContentCoding = (typeof CONTENT_CODINGS)[number];

const gunzipBytes = promisify(gunzip);
const inflateBytes = promisify(inflate);
const inflateRawBytes = promisify(inflateRaw);
const brotliBytes = promisify(brotliDecompress);

/** @throws AppError UNSUPPORTED_MEDIA_TYPE for anything but exactly one of the codings we undo. */
export function contentCodingOf(header: string): ContentCoding {
  const wanted = header.trim().toLowerCase();
  const coding = CONTENT_CODINGS.find((known) => known === wanted);
  if (coding !== undefined) return coding;
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Content-Encoding may be one of gzip, deflate and br, or absent.', {
    headers: { 'Accept-Encoding': CONTENT_CODINGS.join(', ') },
  });
}

/**
 * How many encoded bytes are read for a body that may hold `maxBytes`. Bytes that do not compress grow a little, so the
 * limit itself would refuse bodies that fit.
 */
export function maxEncodedBytes(maxBytes: number): number {
  return maxBytes + Math.ceil(maxBytes / 16) + 1024;
}

/**
 * Undoes one coding. zlib stops as soon as its output passes `maxBytes`, so a bomb costs no more memory than a body that
 * is allowed.
 * @throws AppError PAYLOAD_TOO_LARGE past the limit, INVALID_JSON when the bytes are not of that coding.
 */
export async function decode(encoded: Buffer, coding: ContentCoding, maxBytes: number): Promise<Buffer> {
  try {
    return await decoderOf(encoded, coding)(encoded, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (codeOf(cause) === 'ERR_BUFFER_TOO_LARGE') throw payloadTooLarge(maxBytes);
    throw new AppError('INVALID_JSON', `The body is not what its Content-Encoding says: ${coding}.`, {
      faults: [{ in: 'body', pointer: '', detail: `is not ${coding} data` }],
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
  // RFC 9110 means the zlib format, which opens with method 8; some clients send the bare deflate stream.
  return ((encoded[0] ?? 0) & 0x0f) === 8 ? inflateBytes : inflateRawBytes;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
