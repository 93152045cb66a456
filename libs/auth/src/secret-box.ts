import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';

/** A text that was sealed under a secret that this process does not have, or that is not as it was sealed. */
export class SealedTextError extends Error {
  override readonly name = 'SealedTextError';
}

/** A key and the id under which what it sealed is stored. */
export interface SealingKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: KeyObject;
}

const CIPHER = 'aes-256-gcm';
/** Drawn for each text. 2^32 texts under one key are safe (NIST SP 800-38D, section 8.3); these are some thousands. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Keeps texts that have to be read again, such as the secrets of others: AES-256-GCM, the first key seals, all open. What
 * was sealed is `<id of the key>:<base64url of nonce, ciphertext and tag>`, and opens in its own context alone.
 */
export class SecretBox {
  readonly #keys: readonly SealingKey[];
  readonly #current: SealingKey;

  /** @throws AssertionError when there is no key. */
  constructor(keys: readonly SealingKey[]) {
    const [current] = keys;
    assert(current !== undefined, 'A secret box needs at least one key.');
    this.#keys = keys;
    this.#current = current;
  }

  /** The id of the key that seals. */
  get currentId(): string {
    return this.#current.id;
  }

  /** `context` says whose text it is, so that a sealed text that was moved to another row does not open there. */
  seal(text: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current.key, nonce).setAAD(Buffer.from(context));
    const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${this.#current.id}:${bytes.toString('base64url')}`;
  }

  /** @throws SealedTextError, which names neither the text nor a key. */
  open(sealed: string, context: string): string {
    const id = sealed.slice(0, Math.max(0, sealed.indexOf(':')));
    const known = this.#keys.find((one) => one.id === id);
    if (known === undefined)
      throw new SealedTextError('A text was sealed under a secret that this process does not have.');
    const bytes = Buffer.from(sealed.slice(id.length + 1), 'base64url');
    const end = bytes.length - TAG_BYTES;
    if (end < NONCE_BYTES) throw new SealedTextError('A sealed text is too short.');
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, known.key, bytes.subarray(0, NONCE_BYTES), options)
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new SealedTextError('A sealed text is not as it was sealed.', { cause });
    }
  }
}
