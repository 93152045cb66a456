import { randomBytes as secureRandomBytes } from 'node:crypto';
import { sha256 } from '@sealgate/json';

/** What a key begins with; it tells the surface that the key is for. */
export type ApiKeyPrefix = 'svc_' | 'gk_' | 'ingest_';

export interface MintedKey {
  /** Prefix and 43 characters of url-safe base64, 256 random bits. It is shown once and stored nowhere. */
  readonly rawKey: string;
  /** SHA-256 of the raw key, 32 bytes: what is stored. */
  readonly keyHash: Buffer;
  /** The first 12 characters, for people to tell keys apart. It cannot authenticate. */
  readonly keyPrefix: string;
}

const SECRET_BYTES = 32;
const KEY_PREFIX_LENGTH = 12;
const PATTERNS: Readonly<Record<ApiKeyPrefix, RegExp>> = {
  svc_: /^svc_[A-Za-z0-9_-]{43}$/,
  gk_: /^gk_[A-Za-z0-9_-]{43}$/,
  ingest_: /^ingest_[A-Za-z0-9_-]{43}$/,
};

/** Makes a new key from a source of random bytes, which defaults to the secure one of the platform. */
export function mintKey(
  prefix: ApiKeyPrefix,
  randomBytes: (bytes: number) => Buffer = (bytes) => secureRandomBytes(bytes),
): MintedKey {
  const rawKey = prefix + randomBytes(SECRET_BYTES).toString('base64url');
  return { rawKey, keyHash: sha256(rawKey), keyPrefix: rawKey.slice(0, KEY_PREFIX_LENGTH) };
}

/**
 * The hash under which a presented key would be stored. Undefined when no key of this prefix has that form (another
 * surface's key, padding with `=`, a wrong length), so that the refusal needs no look-up.
 */
export function keyHashOf(prefix: ApiKeyPrefix, presented: string): Buffer | undefined {
  return PATTERNS[prefix].test(presented) ? sha256(presented) : undefined;
}

const BEARER = /^bearer +([\x21-\x7e]+)$/i;

/**
 * The token of an `Authorization` header (RFC 6750): `Bearer` in any case, one or more spaces, then visible ASCII to the
 * end. Undefined for every other value. Whether the token is a key is for `keyHashOf` or `HashedSecrets` to say.
 */
export function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}
