import assert from 'node:assert/strict';
import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto';

/**
 * Encodes a list of texts injectively: each as its length in UTF-8 bytes, a colon and the text. Otherwise `['ab', 'c']`
 * and `['a', 'bc']` would hash alike.
 * @throws AssertionError for a lone surrogate, which UTF-8 cannot represent.
 */
export function framed(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += frame(part);
  return text;
}

/** One length-prefixed text. */
function frame(part: string): string {
  assert(part.isWellFormed(), 'A text to be hashed must not hold a lone surrogate.');
  return `${Buffer.byteLength(part)}:${part}`;
}

/** A hash and the id of its secret. Store both: the id selects the secret to verify with. */
export interface KeyedHash {
  readonly id: string;
  /** HMAC-SHA256, 32 bytes. */
  readonly digest: Buffer;
}

/** A key and its id, which is stored with each hash. */
interface HashingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * HMAC-SHA256 for one purpose with a list of keys: the first one hashes, all verify. Parts are length-prefixed, so
 * different lists never give the same input; a text counts as its UTF-8 bytes.
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

  /** The id of the current key. */
  get currentId(): string {
    return this.#current.id;
  }

  /** Hashes with the current key. @throws AssertionError for a text with a lone surrogate. */
  hash(...parts: readonly (string | Uint8Array)[]): KeyedHash {
    return { id: this.#current.id, digest: digestOf(this.#current, parts) };
  }

  /** Hashes with every key, the current one first, to compare with hashes of any age. */
  hashAll(...parts: readonly (string | Uint8Array)[]): KeyedHash[] {
    return this.#keys.map((key) => ({ id: key.id, digest: digestOf(key, parts) }));
  }

  /** Whether the hash is of these parts, by the key it names. Constant time; false for an unknown key. */
  verify(keyedHash: KeyedHash, ...parts: readonly (string | Uint8Array)[]): boolean {
    const made = this.#keys.find(({ id }) => id === keyedHash.id);
    if (made === undefined) return false;
    const digest = digestOf(made, parts);
    return keyedHash.digest.length === digest.length && timingSafeEqual(keyedHash.digest, digest);
  }
}

/** A key with the padded blocks of the inner and outer hash (RFC 2104 section 2). */
interface PreparedKey extends HashingKey {
  readonly inner: Buffer;
  /** Has room for the inner hash after the block. */
  readonly outer: Buffer;
}

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
const MAX_UTF8_BYTES_PER_UNIT = 3;

/** Buffer for short messages, hashed by two calls at half the cost of an `Hmac` object and its garbage. */
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
  if (maxBytesOf(parts) > SHORT_BYTES) return incrementalDigestOf(key, parts);
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

function maxBytesOf(parts: readonly (string | Uint8Array)[]): number {
  const MAX_LENGTH_BYTES = 8;
  let bytes = 0;
  for (const part of parts) {
    bytes += MAX_LENGTH_BYTES;
    bytes += typeof part === 'string' ? part.length * MAX_UTF8_BYTES_PER_UNIT : part.byteLength;
  }
  return bytes;
}

function incrementalDigestOf({ key }: PreparedKey, parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac('sha256', key);
  // Texts are joined first, because each update is a native call that costs more.
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

/** Creating a small Buffer from a string is several times faster. */
const fromBinary = (digest: string): Buffer => Buffer.from(digest, 'latin1');
