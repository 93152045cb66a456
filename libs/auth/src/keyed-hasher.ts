import assert from 'node:assert/strict';
import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto';

/**
 * Joins texts so that no two different lists give the same result: each is written as its length in UTF-8 bytes, a colon
 * and the text. Without it `['ab', 'c']` and `['a', 'bc']` would hash alike.
 * @throws AssertionError for a lone surrogate: UTF-8 has no form for it, and two such texts would become one.
 */
export function framed(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += frame(part);
  return text;
}

/** One text with its length before it. */
export function frame(part: string): string {
  assert(part.isWellFormed(), 'A text to be hashed must not hold a lone surrogate.');
  return `${Buffer.byteLength(part)}:${part}`;
}

/** A hash and the id of the secret that made it. Store both: the id says later which secret can check it. */
export interface KeyedHash {
  readonly id: string;
  /** HMAC-SHA256, 32 bytes. */
  readonly digest: Buffer;
}

/** A key and the id under which what it made is stored. */
export interface HashingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * HMAC-SHA256 for one purpose under a list of keys: the first makes, all check. Parts are written with their lengths, so
 * no two lists of parts give the same input; a text counts as its UTF-8 bytes.
 */
export class KeyedHasher {
  readonly #current: PreparedKey;
  readonly #keys: readonly PreparedKey[];

  /** @throws AssertionError when there is no key. */
  constructor(keys: readonly HashingKey[]) {
    this.#keys = keys.map(preparedKey);
    const [current] = this.#keys;
    assert(current !== undefined, 'A keyed hasher needs at least one key.');
    this.#current = current;
  }

  /** The id of the key that makes new hashes. */
  get currentId(): string {
    return this.#current.id;
  }

  /** Hashes with the current key. @throws AssertionError for a text with a lone surrogate. */
  hash(...parts: readonly (string | Uint8Array)[]): KeyedHash {
    return { id: this.#current.id, digest: digestOf(this.#current, parts) };
  }

  /** Hashes with every key, the current one first: what a hash of any age can be compared with. */
  hashAll(...parts: readonly (string | Uint8Array)[]): KeyedHash[] {
    return this.#keys.map((key) => ({ id: key.id, digest: digestOf(key, parts) }));
  }

  /** Whether this hash was made of these parts, by the key it names. Takes constant time; false for an unknown key. */
  verify(keyedHash: KeyedHash, ...parts: readonly (string | Uint8Array)[]): boolean {
    const made = this.#keys.find(({ id }) => id === keyedHash.id);
    if (made === undefined) return false;
    const digest = digestOf(made, parts);
    return keyedHash.digest.length === digest.length && timingSafeEqual(keyedHash.digest, digest);
  }
}

/** A key with the blocks that HMAC hashes before the message and before the inner hash (RFC 2104, section 2). */
interface PreparedKey extends HashingKey {
  readonly inner: Buffer;
  /** Room for the inner hash follows the block. */
  readonly outer: Buffer;
}

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
const MOST_UTF8_BYTES_PER_UNIT = 3;

/** A shorter message is put together here and hashed by two calls, at half the cost of an `Hmac` object and its garbage. */
const SHORT_BYTES = 16_384;
const short = Buffer.allocUnsafeSlow(BLOCK_BYTES + SHORT_BYTES);

function preparedKey({ id, key }: HashingKey): PreparedKey {
  const given = key.export();
  const bytes = given.length > BLOCK_BYTES ? hash('sha256', given, 'buffer') : given;
  const inner = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, OUTER_PAD);
  for (const [at, byte] of bytes.entries()) {
    inner[at] = byte ^ INNER_PAD;
    outer[at] = byte ^ OUTER_PAD;
  }
  return { id, key, inner, outer };
}

function digestOf(key: PreparedKey, parts: readonly (string | Uint8Array)[]): Buffer {
  if (mostBytesOf(parts) > SHORT_BYTES) return incrementalDigestOf(key, parts);
  short.set(key.inner);
  let end = BLOCK_BYTES;
  for (const part of parts) {
    if (typeof part === 'string') {
      end += short.write(frame(part), end);
    } else {
      end += short.write(`${part.byteLength}:`, end);
      short.set(part, end);
      end += part.byteLength;
    }
  }
  key.outer.write(hash('sha256', short.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
  return fromBinary(hash('sha256', key.outer, 'binary'));
}

function mostBytesOf(parts: readonly (string | Uint8Array)[]): number {
  const MOST_LENGTH_BYTES = 8;
  let bytes = 0;
  for (const part of parts) {
    bytes += MOST_LENGTH_BYTES;
    bytes += typeof part === 'string' ? part.length * MOST_UTF8_BYTES_PER_UNIT : part.byteLength;
  }
  return bytes;
}

function incrementalDigestOf({ key }: PreparedKey, parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac('sha256', key);
  // Texts are gathered, because each update crosses into native code and that costs more than joining them.
  let pending = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      pending += frame(part);
    } else {
      hmac.update(`${pending}${part.byteLength}:`).update(part);
      pending = '';
    }
  }
  if (pending !== '') hmac.update(pending);
  return fromBinary(hmac.digest('binary'));
}

/** The platform makes a small Buffer from a string several times faster than by itself. */
const fromBinary = (digest: string): Buffer => Buffer.from(digest, 'latin1');
