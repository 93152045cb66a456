import assert from 'node:assert/strict';
import { AppError } from '@sealgate/errors';
import { framed, type KeyedHash, type KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';

const KEY = /^[\x21-\x7e]{1,255}$/;
/** A string of RFC 9651, section 3.3.3, without parameters or further list members. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Parses the Idempotency-Key header from all its occurrences: a bare key, or a structured-field string, which is
 * unquoted and unescaped. A value that begins with a quote must be such a string: if a string with parameters were a
 * key of its own, the same request in two spellings would be written twice. Undefined if the header is absent.
 * @throws AppError INVALID_IDEMPOTENCY_KEY if it was sent twice, is empty, is longer than 255 characters, contains
 * anything but visible ASCII, or begins with a quote and is not one quoted string.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  if (value === undefined) return undefined;
  if (headerValues.length > 1) throw invalid('Idempotency-Key was sent more than once.');
  const key = value.startsWith('"') ? unquoted(value) : value;
  if (!KEY.test(key)) throw invalid('Idempotency-Key is 1 to 255 visible ASCII characters, bare or in quotes.');
  return key;
}

function unquoted(value: string): string {
  const text = QUOTED.exec(value)?.[1];
  if (text === undefined) throw invalid('A quoted Idempotency-Key is one string in quotes, without parameters.');
  return text.includes('\\') ? text.replaceAll(/\\(.)/g, '$1') : text;
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_IDEMPOTENCY_KEY', detail, {
    faults: [{ in: 'header', pointer: '/Idempotency-Key', detail }],
  });
}

/** The stored identity of a request, in the same transaction as its effect, so that it takes effect once. */
export interface Claim {
  /** 32 bytes that identify scope and key, independent of the secrets, so that a UNIQUE index can enforce them. */
  readonly claim: Buffer;
  /** `<secretId>:<base64url>`, made with the current secret; stored with the claim. Reveals nothing about the body. */
  readonly fingerprint: string;
  /** All fingerprints under which the same request may be stored, one per secret; the first is `fingerprint`. */
  readonly acceptable: readonly string[];
}

export interface ClaimOptions {
  /** Derived for the fingerprints of this surface only. */
  readonly hasher: KeyedHasher;
  /** The scope in which the key is unique, for instance network and key family. Scopes never share a claim. */
  readonly scope: readonly string[];
  readonly key: string;
  readonly method: string;
  /** Path of the request, without the query. */
  readonly path: string;
  /** The canonical body or the raw inflated bytes, as documented by the surface. */
  readonly body: Uint8Array;
}

/** Requests share a claim if scope and key are equal, and a fingerprint if method, path and body are equal, too. */
export function claimOf({ hasher, scope, key, method, path, body }: ClaimOptions): Claim {
  const hashes = hasher.hashAll(method, path, body);
  const acceptable = hashes.map(fingerprintText);
  const [fingerprint] = acceptable;
  assert(fingerprint !== undefined, 'A hasher has at least one key.');
  return { claim: sha256(framed([...scope, key])), fingerprint, acceptable };
}

function fingerprintText({ id, digest }: KeyedHash): string {
  return `${id}:${digest.toString('base64url')}`;
}
