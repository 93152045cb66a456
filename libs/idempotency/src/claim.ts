import assert from 'node:assert/strict';
import { framed, type KeyedHash, type KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';

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
