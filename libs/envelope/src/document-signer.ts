import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { ed25519PrivateKey } from '@sealgate/merkle';
import { jwkOfPoint, type PublicJwk } from './public-jwk.ts';
import { signingInput } from './verify-detached.ts';

export interface DocumentSigner {
  readonly kid: string;
  /**
   * Returns a detached JWS over exactly these bytes: `<header>..<signature>`, RFC 7515 appendix F, `alg` EdDSA, with
   * `kid`. Ed25519 is deterministic: equal bytes get equal signatures.
   */
  sign(bytes: Uint8Array): string;
  /** The public key for the JWK set. */
  readonly jwk: PublicJwk;
}

/** Creates a signer from an Ed25519 private key in PKCS #8 PEM. Throws an Error that never shows the key. */
export function documentSigner(pkcs8Pem: string): DocumentSigner {
  return signerOf(readPrivateKey(pkcs8Pem));
}

/** Creates a signer from a 32-byte Ed25519 seed, such as one derived from a server secret. */
export function seededSigner(seed: Uint8Array): DocumentSigner {
  return signerOf(ed25519PrivateKey(seed));
}

function signerOf(privateKey: KeyObject): DocumentSigner {
  const jwk = publicJwkOf(privateKey);
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: jwk.kid })).toString('base64url');
  return {
    kid: jwk.kid,
    jwk,
    sign: (bytes) => `${header}..${sign(null, signingInput(header, bytes), privateKey).toString('base64url')}`,
  };
}

/** Generates an Ed25519 private key as PKCS #8 PEM, for `documentSigner`. */
export function generateDocumentKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** The public half of an Ed25519 key. Throws for other key types. */
function publicJwkOf(key: KeyObject): PublicJwk {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  if (publicKey.asymmetricKeyType !== 'ed25519') throw new Error('A document key is an Ed25519 key.');
  const { x } = publicKey.export({ format: 'jwk' });
  if (x === undefined) throw new Error('The Ed25519 key exports no public point.');
  return jwkOfPoint(x);
}

function readPrivateKey(pem: string) {
  try {
    return createPrivateKey({ key: pem, format: 'pem', type: 'pkcs8' });
  } catch {
    // No cause: parser messages may quote the key.
    throw new Error('A document key is an Ed25519 private key in PKCS #8 PEM; this is not readable as one.');
  }
}
