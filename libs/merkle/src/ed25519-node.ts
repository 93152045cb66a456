import { createPublicKey, verify } from 'node:crypto';

/** DER prefix of a raw Ed25519 public key (RFC 8410); node:crypto does not import raw keys this way. */
export const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 public key (RFC 8032) for verification. */
export interface Ed25519Key {
  verify(data: Uint8Array, signature: Uint8Array): boolean;
}

/** Imports a raw 32-byte public key. */
export function ed25519Key(point: Uint8Array): Ed25519Key {
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, point]), format: 'der', type: 'spki' });
  return { verify: (data, signature) => verify(null, data, key, signature) };
}

/** Runs a check once. The browser version repeats it, because WebCrypto is asynchronous. */
export async function settleSignatures<T>(check: () => T): Promise<T> {
  return check();
}
