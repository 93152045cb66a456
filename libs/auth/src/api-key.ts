import { randomBytes as secureRandomBytes, randomFillSync } from 'node:crypto';
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

/** Random bytes taken from 64 KiB blocks: one call to the system's generator per block. */
export function randomPool(
  fill: (block: Buffer) => Buffer = randomFillSync,
  blockBytes = 65_536,
): (bytes: number) => Buffer {
  let block: Buffer = Buffer.alloc(0);
  let at = 0;
  return (bytes) => {
    if (at + bytes > block.length) {
      block = fill(Buffer.allocUnsafeSlow(blockBytes));
      at = 0;
    }
    at += bytes;
    return block.subarray(at - bytes, at);
  };
}

const MAX_PER_MS = 0x1000;

/**
 * The 16 bytes of a UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, a 12-bit counter (section 6.2, method 1)
 * and 62 random bits. Ids of one generator sort by creation, whatever the clock does, and are unguessable.
 * @param now milliseconds since the epoch, with or without a fraction.
 * @param random returns that many random bytes; a `randomPool`.
 */
export function timeOrderedBytes(now: () => number, random: (bytes: number) => Uint8Array): () => Buffer {
  let lastMs = 0;
  let count = 0;
  return () => {
    const atMs = Math.max(Math.floor(now()), lastMs);
    count = atMs === lastMs ? count + 1 : 0;
    // A counter overflow borrows from the next millisecond.
    lastMs = count === MAX_PER_MS ? atMs + 1 : atMs;
    count %= MAX_PER_MS;
    const bytes = Buffer.allocUnsafe(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | count, 6);
    bytes.set(random(8), 8);
    bytes[8] = 0x80 | (bytes[8]! & 0x3f);
    return bytes;
  };
}

/** Ids of a prefix and the 32 hex digits of `timeOrderedBytes`. */
export function timeOrderedIds(now: () => number, random: (bytes: number) => Uint8Array): (prefix: string) => string {
  const next = timeOrderedBytes(now, random);
  return (prefix) => prefix + next().toString('hex');
}
