import assert from 'node:assert/strict';
import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';

/** Makes and reads list cursors. A cursor says where to continue, and carries no rights. */
export interface CursorCodec {
  /**
   * Makes a cursor for a position. The binding lists everything that must be equal when the cursor is used: the list,
   * its filters, the caller. It starts with the name of the list and a version of the position format.
   * @throws AssertionError if the position does not fit into `maxBytes`.
   */
  make(binding: readonly string[], position: JsonValue): string;
  /**
   * Returns the position passed to `make` with the same binding.
   * @throws AppError INVALID_CURSOR for every defect alike: malformed, altered, expired, made for another binding or
   * with a removed secret.
   */
  read(binding: readonly string[], cursor: string): JsonValue;
}

/** Content of a cursor: id of the signing key, expiry, position. Short names save space. */
interface Content {
  readonly k: string;
  readonly e: number;
  readonly p: JsonValue;
}

const TTL_MS = 24 * 60 * 60 * 1000;
const MAX_BYTES = 512;
const MAC_BYTES = 32;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Cursors are base64url of a JSON object and its HMAC-SHA256, without padding, each with a single valid encoding. */
export function cursorCodec(options: {
  /** Derived for the cursors of this surface only. */
  readonly hasher: KeyedHasher;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Maximum length of a cursor, 512 bytes by default. */
  readonly maxBytes?: number;
  /** Where callers send the cursor, for the pointer of the fault: the query by default. */
  readonly sentIn?: 'query' | 'body';
}): CursorCodec {
  const { hasher, now, maxBytes = MAX_BYTES, sentIn = 'query' } = options;

  function make(binding: readonly string[], position: JsonValue): string {
    // A whole number, so that cursors to one position have equal length.
    const content: Content = { k: hasher.currentId, e: Math.floor(now() + TTL_MS), p: position };
    const json = Buffer.from(JSON.stringify(content));
    const cursor = Buffer.concat([json, hasher.hash(...binding, json).digest]).toString('base64url');
    assert(cursor.length <= maxBytes, 'The position is too long for a cursor.');
    return cursor;
  }

  function positionOf(binding: readonly string[], cursor: string): JsonValue | undefined {
    if (cursor.length > maxBytes || !BASE64URL.test(cursor)) return undefined;
    const bytes = Buffer.from(cursor, 'base64url');
    // Other texts decode to the same bytes if the last character has spare bits.
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined;
    const json = bytes.subarray(0, bytes.length - MAC_BYTES);
    const digest = bytes.subarray(bytes.length - MAC_BYTES);
    const content = contentOf(json.toString('utf8'));
    if (content === undefined || !hasher.verify({ id: content.k, digest }, ...binding, json)) return undefined;
    return now() >= content.e ? undefined : content.p;
  }

  return {
    make,
    read(binding, cursor) {
      const position = positionOf(binding, cursor);
      if (position === undefined) throw refusal(sentIn);
      return position;
    },
  };
}

/** Parses untrusted text: the content counts only once its HMAC has been verified. */
function contentOf(json: string): Content | undefined {
  const content = parse(json);
  if (typeof content !== 'object' || content === null) return undefined;
  if (!('k' in content) || typeof content.k !== 'string') return undefined;
  if (!('e' in content) || typeof content.e !== 'number') return undefined;
  if (!('p' in content)) return undefined;
  // JSON.parse returns only JSON values.
  return { k: content.k, e: content.e, p: content.p as JsonValue };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function refusal(sentIn: 'query' | 'body'): AppError {
  const detail = 'The cursor does not belong to this list, or it has expired.';
  return new AppError('INVALID_CURSOR', detail, { faults: [{ in: sentIn, pointer: '/cursor', detail }] });
}
