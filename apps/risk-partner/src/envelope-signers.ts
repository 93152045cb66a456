import { sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ServerSecrets } from '@sealgate/auth';
import { seededSigner, type PublicJwk } from '@sealgate/envelope';
import { ed25519PrivateKey } from '@sealgate/merkle';

/** Must never change: the signing keys are derived from it. */
const PURPOSE = 'risk envelope signing';

interface EnvelopeSigner {
  readonly jwk: PublicJwk;
  /** A detached JWS over exactly these bytes, as `DocumentSigner` makes it. */
  sign(bytes: Uint8Array): Promise<string>;
}

/**
 * One signing key per server secret; the first one signs. The keys are derived from the secrets, so all replicas have
 * the same keys and there is no further secret to store.
 */
export function envelopeSigners(secrets: ServerSecrets): readonly [EnvelopeSigner, ...EnvelopeSigner[]] {
  const [first, ...others] = secrets
    .derive(PURPOSE)
    .hashAll('ed25519')
    .map(({ digest }) => envelopeSigner(digest));
  if (first === undefined) throw new Error('There is at least one server secret.');
  return [first, ...others];
}

const signInPool = promisify<null, Buffer, KeyObject, Buffer>(sign);

/**
 * Signs on the thread pool: Ed25519 hashes its input twice, and a page is large enough to block the event loop
 * noticeably.
 */
function envelopeSigner(seed: Buffer): EnvelopeSigner {
  const { jwk, sign: signHere } = seededSigner(seed);
  const key = ed25519PrivateKey(seed);
  // Every detached JWS of a key starts with the same header and two dots.
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
 * The JWS signing input (RFC 7515, section 5.1), in a buffer that the next call reuses: Node copies it for the worker
 * thread. Allocating a page-sized buffer per call would trigger frequent full garbage collections.
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
