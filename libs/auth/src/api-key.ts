import { randomBytes as secureRandomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { sha256 } from '@sealgate/json';

/** Prefix of a key; identifies its surface. */
export type ApiKeyPrefix = 'svc_' | 'gk_' | 'ingest_';

interface MintedKey {
  /** Prefix and 43 characters of url-safe base64 (256 random bits). Shown once and never stored. */
  readonly rawKey: string;
  /** SHA-256 of the raw key, 32 bytes: the stored form. */
  readonly keyHash: Buffer;
  /** The first 12 characters, so that people can tell keys apart. Cannot authenticate. */
  readonly keyPrefix: string;
}

const SECRET_BYTES = 32;
const KEY_PREFIX_LENGTH = 12;
const PATTERNS: Readonly<Record<ApiKeyPrefix, RegExp>> = {
  svc_: /^svc_[A-Za-z0-9_-]{43}$/,
  gk_: /^gk_[A-Za-z0-9_-]{43}$/,
  ingest_: /^ingest_[A-Za-z0-9_-]{43}$/,
};

/** Generates a new key; `randomBytes` defaults to the platform's CSPRNG. */
export function mintKey(
  prefix: ApiKeyPrefix,
  randomBytes: (bytes: number) => Buffer = (bytes) => secureRandomBytes(bytes),
): MintedKey {
  const rawKey = prefix + randomBytes(SECRET_BYTES).toString('base64url');
  return { rawKey, keyHash: sha256(rawKey), keyPrefix: rawKey.slice(0, KEY_PREFIX_LENGTH) };
}

/**
 * The hash of a presented key, for look-up. Undefined if it does not have the form of a key with this prefix (another
 * surface's key, padding with `=`, a wrong length), so that no look-up is needed.
 */
export function keyHashOf(prefix: ApiKeyPrefix, presented: string): Buffer | undefined {
  return PATTERNS[prefix].test(presented) ? sha256(presented) : undefined;
}

const BEARER = /^bearer +([\x21-\x7e]+)$/i;

/**
 * The token of an `Authorization` header (RFC 6750): `Bearer` in any case, one or more spaces, then visible ASCII to
 * the end; undefined otherwise. Whether the token is valid is checked by `keyHashOf` or `HashedSecrets`.
 */
export function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** Whether the host is loopback: `localhost` or an address, IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/**
 * Parses a URL with transport security: https, or http on loopback. Undefined for any other text, and for a URL with
 * user or password.
 */
export function safeUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return undefined;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)) ? url : undefined;
}
