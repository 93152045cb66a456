import { createPublicKey, verify } from 'node:crypto';

/** The fixed DER before a raw Ed25519 public key (RFC 8410): node:crypto takes no bare point. */
export const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 public key (RFC 8032), ready to check with. */
export interface Ed25519Key {
  verify(data: Uint8Array, signature: Uint8Array): boolean;
}

/** The key with these 32 bytes. */
export function ed25519Key(point: Uint8Array): Ed25519Key {
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, point]), format: 'der', type: 'spki' });
  return { verify: (data, signature) => verify(null, data, key, signature) };
}

/** Runs a check. Browsers judge signatures in the background, so there it may take several runs; here it is one. */
export async function settleSignatures<T>(check: () => T): Promise<T> {
  return check();
}
