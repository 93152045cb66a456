import assert from 'node:assert/strict';
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { frame } from './framed.ts';

/** A hash and the id of the secret that made it. Store both: the id says later which secret can check it. */
export interface KeyedHash {
  readonly id: string;
  /** HMAC-SHA256, 32 bytes. */
  readonly digest: Buffer;
}

/** A key prepared once: an HMAC from raw bytes costs several times as much. */
export interface HashingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * HMAC-SHA256 for one purpose under a list of keys: the first makes, all check. Parts are written with their lengths, so
 * no two lists of parts give the same input; a text counts as its UTF-8 bytes.
 */
export class KeyedHasher {
  readonly #current: HashingKey;
  readonly #keys: readonly HashingKey[];

  /** @throws AssertionError when there is no key. */
  constructor(keys: readonly HashingKey[]) {
    const [current] = keys;
    assert(current !== undefined, 'A keyed hasher needs at least one key.');
    this.#current = current;
    this.#keys = keys;
  }

  /** The id of the key that makes new hashes. */
  get currentId(): string {
    return this.#current.id;
  }

  /** Hashes with the current key. @throws AssertionError for a text with a lone surrogate. */
  hash(...parts: readonly (string | Uint8Array)[]): KeyedHash {
    return { id: this.#current.id, digest: digestOf(this.#current.key, parts) };
  }

  /** Hashes with every key, the current one first: what a hash of any age can be compared with. */
  hashAll(...parts: readonly (string | Uint8Array)[]): KeyedHash[] {
    return this.#keys.map(({ id, key }) => ({ id, digest: digestOf(key, parts) }));
  }

  /** Whether this hash was made of these parts, by the key it names. Takes constant time; false for an unknown key. */
  verify(keyedHash: KeyedHash, ...parts: readonly (string | Uint8Array)[]): boolean {
    const made = this.#keys.find(({ id }) => id === keyedHash.id);
    if (made === undefined) return false;
    const digest = digestOf(made.key, parts);
    return keyedHash.digest.length === digest.length && timingSafeEqual(keyedHash.digest, digest);
  }
}

function digestOf(key: KeyObject, parts: readonly (string | Uint8Array)[]): Buffer {
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
  // By way of a string: the platform makes a small Buffer from one several times faster than by itself.
  return Buffer.from(hmac.digest('binary'), 'latin1');
}
