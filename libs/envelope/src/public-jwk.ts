import { sha256Text } from '@sealgate/json';

/** An Ed25519 public key as a JWK (RFC 8037); `kid` is its RFC 7638 thumbprint. */
export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** The public key: 32 bytes as base64url. */
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

/** A JWK set (RFC 7517). May contain keys of other types; they are never used for verification. */
export interface Jwks {
  readonly keys: readonly PublicJwk[];
}

/** The JWK of a base64url public key. */
export function jwkOfPoint(x: string): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x, kid: thumbprint(x), alg: 'EdDSA', use: 'sig' };
}

/**
 * The set to serve at `/.well-known/jwks.json`: the current key first, then retired keys, without duplicates. Throws
 * when two different keys share a `kid`.
 */
export function jwksOf(keys: readonly PublicJwk[]): Jwks {
  const byKid = new Map<string, PublicJwk>();
  for (const key of keys) {
    const known = byKid.get(key.kid);
    if (known !== undefined && known.x !== key.x) throw new Error(`Two different keys are named ${key.kid}.`);
    byKid.set(key.kid, known ?? key);
  }
  return { keys: [...byKid.values()] };
}

/** The RFC 7638 thumbprint over the members that RFC 8037 requires. `kid` therefore identifies the key. */
function thumbprint(x: string): string {
  return sha256Text(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
}
