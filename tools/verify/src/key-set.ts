import type { Jwks, PublicJwk } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { isObject, listAt, rootObject } from './shape.ts';

/**
 * The Ed25519 keys of a JWK set (RFC 7517); keys of other kinds are left out, they sign nothing of ours.
 * Throws UnreadableError when the file is no key set.
 */
export function readKeySet(name: string, value: JsonValue): Jwks {
  return { keys: listAt(rootObject(name, value), 'keys').flatMap(readKey) };
}

function readKey(value: JsonValue): PublicJwk[] {
  if (!isObject(value)) return [];
  const { kty, crv, x, kid } = value;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof kid !== 'string') return [];
  return [{ kty, crv, x, kid, alg: 'EdDSA', use: 'sig' }];
}
