import assert from 'node:assert/strict';
import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';

/** Makes and reads the cursors of lists. A cursor says where to go on, and carries no rights. */
export interface CursorCodec {
  /**
   * A cursor for a position. The binding is everything that must be the same when it is used: the list, its filters, who
   * asks. Begin it with the name of the list and a version of what a position looks like there.
   * @throws AssertionError when the position does not fit into `maxBytes`.
   */
  make(binding: readonly string[], position: JsonValue): string;
  /**
   * The position that `make` was given for this very binding.
   * @throws AppError INVALID_CURSOR for every defect alike: malformed, altered, expired, made for another binding or with
   * a secret that is gone.
   */
  read(binding: readonly string[], cursor: string): JsonValue;
}

export interface CursorCodecOptions {
  /** Derived for cursors of this surface alone. */
  readonly hasher: KeyedHasher;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long a cursor can be used, 24 hours by default. */
  readonly ttlMs?: number;
  /** The longest cursor, 512 bytes by default. */
  readonly maxBytes?: number;
  /** Where callers send the cursor, for the fault's pointer: the query by default. */
  readonly sentIn?: 'query' | 'body';
}

/** What a cursor says: the id of the key that signed it, when it ends, and the position. Short names keep it short. */
interface Content {
  readonly k: string;
  readonly e: number;
  readonly p: JsonValue;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_BYTES = 512;
const MAC_BYTES = 32;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Cursors are base64url of a JSON object and its HMAC-SHA256, without padding, in exactly one form each. */
export function cursorCodec(options: CursorCodecOptions): CursorCodec {
  const { hasher, now, ttlMs = DAY_MS, maxBytes = MAX_BYTES, sentIn = 'query' } = options;

  function make(binding: readonly string[], position: JsonValue): string {
    // A whole number, so that cursors to one place have one length whatever the clock's fraction is.
    const content: Content = { k: hasher.currentId, e: Math.floor(now() + ttlMs), p: position };
    const json = Buffer.from(JSON.stringify(content));
    const cursor = Buffer.concat([json, hasher.hash(...binding, json).digest]).toString('base64url');
    assert(cursor.length <= maxBytes, 'The position is too long for a cursor.');
    return cursor;
  }

  function positionOf(binding: readonly string[], cursor: string): JsonValue | undefined {
    if (cursor.length > maxBytes || !BASE64URL.test(cursor)) return undefined;
    const bytes = Buffer.from(cursor, 'base64url');
    // Other texts decode to the same bytes: the last character may have spare bits.
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

/** Anybody may have written this text: what it says counts only once its HMAC has been checked. */
function contentOf(json: string): Content | undefined {
  const content = parse(json);
  if (typeof content !== 'object' || content === null) return undefined;
  if (!('k' in content) || typeof content.k !== 'string') return undefined;
  if (!('e' in content) || typeof content.e !== 'number') return undefined;
  if (!('p' in content)) return undefined;
  // JSON.parse returns nothing but JSON values, so `p` is one.
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
  const detail = 'The cursor is not one of this list, or it has expired.';
  return new AppError('INVALID_CURSOR', detail, { faults: [{ in: sentIn, pointer: '/cursor', detail }] });
}
