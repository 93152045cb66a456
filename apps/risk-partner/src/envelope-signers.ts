import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ServerSecrets } from '@sealgate/auth';
import { documentSigner, type PublicJwk } from '@sealgate/envelope';

/** RFC 8410: PKCS #8 of an Ed25519 key is this, and then its 32 bytes. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The name of the purpose must never change: the keys follow from it. */
const PURPOSE = 'risk envelope signing';

export interface EnvelopeSigner {
  readonly jwk: PublicJwk;
  /** A detached JWS over exactly these bytes, as `documentSigner` makes it. */
  sign(bytes: Uint8Array): Promise<string>;
}

/**
 * One signing key for each server secret, the first of which signs. They follow from the secrets, so every replica has the
 * same ones, and there is no further secret to keep.
 */
export function envelopeSigners(secrets: ServerSecrets): readonly [EnvelopeSigner, ...EnvelopeSigner[]] {
  const [first, ...others] = secrets
    .derive(PURPOSE)
    .hashAll('ed25519')
    .map(({ digest }) => envelopeSigner(pemOf(digest)));
  if (first === undefined) throw new Error('There is at least one server secret.');
  return [first, ...others];
}

const signInPool = promisify<null, Buffer, KeyObject, Buffer>(sign);

/**
 * Signs on a thread of the pool: Ed25519 reads what it signs twice, and a page is large enough that the event loop has
 * something better to do meanwhile.
 */
function envelopeSigner(pem: string): EnvelopeSigner {
  const { jwk, sign: signHere } = documentSigner(pem);
  const key = createPrivateKey(pem);
  // Every JWS of a key begins with the same header, two dots before the signature.
  const [header = ''] = signHere(new Uint8Array()).split('.');
  const inputOf = signingInputs(header);
  return {
    jwk,
    async sign(bytes) {
      const signature = await signInPool(null, inputOf(bytes), key);
      return `${header}..${signature.toString('base64url')}`;
    },
  };
}

/**
 * What a JWS signs (RFC 7515, section 5.1), in a buffer that the next one overwrites: Node copies what it hands to a thread.
 * A buffer for each would be as large as a page, and many such make V8 look through all of its memory again and again.
 */
function signingInputs(header: string): (bytes: Uint8Array) => Buffer {
  const start = `${header}.`;
  let buffer = Buffer.alloc(0);
  return (bytes) => {
    const payload = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
    const length = start.length + payload.length;
    if (buffer.length < length) {
      buffer = Buffer.alloc(length * 2);
      buffer.write(start, 'latin1');
    }
    buffer.write(payload, start.length, 'latin1');
    return buffer.subarray(0, length);
  };
}

function pemOf(seed: Buffer): string {
  const base64 = Buffer.concat([PKCS8_PREFIX, seed]).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`;
}
