import { sha256Text } from '@sealgate/json';

/** One Ed25519 public key as RFC 8037 spells it, named by its RFC 7638 thumbprint. */
export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** The public key: 32 bytes as base64url. */
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

/** A JWK set (RFC 7517). Keys of other kinds may stand in it; they never verify anything of ours. */
export interface Jwks {
  readonly keys: readonly PublicJwk[];
}

/** The key with this public point, base64url. */
export function jwkOfPoint(x: string): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x, kid: thumbprint(x), alg: 'EdDSA', use: 'sig' };
}

/**
 * The set to serve at `/.well-known/jwks.json`: the current key first, then retired ones, each once.
 * Throws when two different keys share a name, since a verifier could not tell them apart.
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

/** RFC 7638, with the members RFC 8037 asks for: the name follows from the key, so it cannot be given to another. */
function thumbprint(x: string): string {
  return sha256Text(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
}
