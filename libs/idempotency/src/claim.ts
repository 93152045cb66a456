import assert from 'node:assert/strict';
import { AppError } from '@sealgate/errors';
import { framed, type KeyedHash, type KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';

const KEY = /^[\x21-\x7e]{1,255}$/;
/** A string of RFC 9651, section 3.3.3, with nothing after it: neither parameters nor another member of a list. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * The key of a request, from all occurrences of the Idempotency-Key header: bare, or as a structured-field string, which
 * loses its quotes and the backslashes that escape. What begins with a quote is such a string or nothing: were a string
 * with parameters a key of its own, the same request spelled in two ways would be written twice. Undefined when the
 * header is absent.
 * @throws AppError INVALID_IDEMPOTENCY_KEY when it was sent twice, is empty, is longer than 255 characters, holds one that
 * is not visible ASCII, or begins with a quote and is not one quoted string.
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

/** What is stored of a request so that it takes effect once, in the same transaction as the effect. */
export interface Claim {
  /** 32 bytes that stand for scope and key: the same for the same, under every secret, so that a UNIQUE index decides. */
  readonly claim: Buffer;
  /** `<secretId>:<base64url>`, made with the current secret: to be stored beside the claim. It tells nothing of the body. */
  readonly fingerprint: string;
  /** The fingerprints that the same request may have been stored under, one per secret; the first is `fingerprint`. */
  readonly acceptable: readonly string[];
}

export interface ClaimOptions {
  /** Derived for fingerprints of this surface alone. */
  readonly hasher: KeyedHasher;
  /** Within what the key is unique, for instance network and key family. Two scopes never share a claim. */
  readonly scope: readonly string[];
  readonly key: string;
  readonly method: string;
  /** Of the request, without the query. */
  readonly path: string;
  /** The canonical body or the raw inflated bytes, whichever the surface promises. */
  readonly body: Uint8Array;
}

/** Two requests have the same claim when scope and key agree, and share a fingerprint when method, path and body do too. */
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
