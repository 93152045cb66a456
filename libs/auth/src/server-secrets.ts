import assert from 'node:assert/strict';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';

/** A key for one purpose, and its id, which is stored with each hash and each sealed text. */
interface DerivedKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: KeyObject;
}

interface Secret {
  readonly id: string;
  readonly value: string;
}

const MAX_SECRETS = 16;
const MIN_VALUE_LENGTH = 32;
const MAX_VALUE_LENGTH = 1024;
const DERIVED_KEY_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * The secrets of a deployment, from which all hashing keys are derived: the first one hashes, all verify. To rotate a
 * secret, add the new one last until every process has it, then move it first; remove the old one once none of its
 * hashes must be verified.
 */
export class ServerSecrets {
  readonly #secrets: readonly Secret[];

  private constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets;
  }

  /**
   * Parses `id:value,id:value`. An id is 1-32 letters, digits, `_` or `-`; a value is 32-1,024 characters without a
   * comma; at most 16 secrets. Blanks around an entry are ignored.
   * @throws Error listing every fault by position. Neither values nor ids are quoted, since either may be a misplaced
   *   secret.
   */
  static parse(text: string): ServerSecrets {
    const secrets = text.split(',').map((entry) => secretOf(entry.trim()));
    const faults = secrets.flatMap((secret, index) => {
      const fault = faultOf(secret, secrets.slice(0, index));
      return fault === undefined ? [] : [`entry ${index + 1} ${fault}`];
    });
    if (secrets.length > MAX_SECRETS) faults.push(`there are more than ${MAX_SECRETS} entries`);
    if (faults.length > 0) throw new Error(`Server secrets must be written id:value,id:value; ${faults.join('; ')}.`);
    return new ServerSecrets(secrets);
  }

  /** The ids in order; the first one is current. They reveal nothing of the values. */
  get ids(): readonly string[] {
    return this.#secrets.map(({ id }) => id);
  }

  /**
   * The hasher for one purpose. Its keys are derived by HKDF-SHA256 (RFC 5869: no salt, the purpose in `info`), so keys
   * of different purposes are independent. Derive once at the start: it prepares the keys. Stored hashes depend on the
   * name of the purpose, which must never change.
   */
  derive(purpose: string): KeyedHasher {
    return new KeyedHasher(this.#keysFor(purpose));
  }

  /** The box for texts of one purpose, with keys derived likewise. A purpose is used for either hashing or sealing. */
  sealing(purpose: string): SecretBox {
    return new SecretBox(this.#keysFor(`sealing/${purpose}`));
  }

  #keysFor(purpose: string): DerivedKey[] {
    const info = `sealgate/${purpose}`;
    return this.#secrets.map(({ id, value }) => ({
      id,
      key: createSecretKey(new Uint8Array(hkdfSync('sha256', value, '', info, DERIVED_KEY_BYTES))),
    }));
  }
}

function secretOf(entry: string): Secret {
  const colon = entry.indexOf(':');
  return colon < 0 ? { id: '', value: entry } : { id: entry.slice(0, colon), value: entry.slice(colon + 1) };
}

function faultOf(secret: Secret, earlier: readonly Secret[]): string | undefined {
  if (secret.id === '' && secret.value === '') return 'is empty';
  if (secret.id === '') return 'has no id';
  if (!ID.test(secret.id)) return 'has an id with other characters than letters, digits, _ and -, or a long one';
  if (secret.value.length < MIN_VALUE_LENGTH) return `has a value shorter than ${MIN_VALUE_LENGTH} characters`;
  if (secret.value.length > MAX_VALUE_LENGTH) return `has a value longer than ${MAX_VALUE_LENGTH} characters`;
  if (earlier.some(({ id }) => id === secret.id)) return 'has the id of an earlier entry';
  if (earlier.some(({ value }) => value === secret.value)) return 'has the value of an earlier entry';
  return undefined;
}

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

/**
 * HMAC-SHA256 for one purpose with a list of keys: the first one hashes, all verify. Parts are length-prefixed, so
 * different lists never give the same input; a text counts as its UTF-8 bytes.
 */
export class KeyedHasher {
  readonly #current: PreparedKey;
  readonly #keys: readonly PreparedKey[];

  /** @throws AssertionError when there is no key. */
  constructor(keys: readonly DerivedKey[]) {
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
interface PreparedKey extends DerivedKey {
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

function preparedKey({ id, key }: DerivedKey): PreparedKey {
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

/** The text was sealed with an unknown secret, or was modified. */
export class SealedTextError extends Error {
  override readonly name = 'SealedTextError';
}

const CIPHER = 'aes-256-gcm';
/** Random for each text. Up to 2^32 texts per key are safe (NIST SP 800-38D section 8.3); there are some thousands. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface SealedBytes {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts texts that must be readable again, such as third-party secrets: AES-256-GCM; the first key encrypts, all
 * decrypt. The result is `<key id>:<base64url of nonce, ciphertext and tag>`, and decrypts only in its own context.
 */
export class SecretBox {
  readonly #keys: readonly DerivedKey[];
  readonly #current: DerivedKey;

  /** @throws AssertionError when there is no key. */
  constructor(keys: readonly DerivedKey[]) {
    const [current] = keys;
    assert(current !== undefined, 'A secret box needs at least one key.');
    this.#keys = keys;
    this.#current = current;
  }

  /** The id of the encrypting key. */
  get currentId(): string {
    return this.#current.id;
  }

  /** `context` identifies the owner of the text, so that a sealed text moved to another row cannot be opened. */
  seal(text: string, context: string): string {
    const { keyId, bytes } = this.sealBytes(Buffer.from(text, 'utf8'), context);
    return `${keyId}:${bytes.toString('base64url')}`;
  }

  /** @throws SealedTextError, which reveals neither the text nor a key. */
  open(sealed: string, context: string): string {
    const keyId = sealed.slice(0, Math.max(0, sealed.indexOf(':')));
    const bytes = Buffer.from(sealed.slice(keyId.length + 1), 'base64url');
    return this.openBytes({ keyId, bytes }, context).toString('utf8');
  }

  /** `seal` of bytes: nonce, ciphertext and tag, and the id of the key, to be stored beside them. */
  sealBytes(plain: Uint8Array, context: string): SealedBytes {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current.key, nonce).setAAD(Buffer.from(context));
    const bytes = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return { keyId: this.#current.id, bytes };
  }

  /** @throws SealedTextError, which reveals neither the bytes nor a key. */
  openBytes({ keyId, bytes }: SealedBytes, context: string): Buffer {
    const known = this.#keys.find((one) => one.id === keyId);
    if (known === undefined) throw new SealedTextError('A text was sealed with a secret unknown to this process.');
    const end = bytes.length - TAG_BYTES;
    if (end < NONCE_BYTES) throw new SealedTextError('A sealed text is too short.');
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, known.key, bytes.subarray(0, NONCE_BYTES), options)
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()]);
    } catch (cause) {
      throw new SealedTextError('A sealed text was modified.', { cause });
    }
  }
}
