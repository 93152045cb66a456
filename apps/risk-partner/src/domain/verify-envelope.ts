import { hashedBytesOf, hasTrueHash, isPartnerEnvelope, verifyDetached, type Jwks } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';

/**
 * Whether an envelope is one of ours and unchanged: its hash is true and, where a signature is given, that is by one of our
 * keys over the very bytes. Without a signature `valid` says no more than that nothing was changed since it was hashed.
 */
export function isValidEnvelope(envelope: JsonValue, signature: string | undefined, keys: Jwks): boolean {
  if (!isPartnerEnvelope(envelope) || !hasTrueHash(envelope)) return false;
  return signature === undefined || verifyDetached(hashedBytesOf(envelope), signature, keys).ok;
}
