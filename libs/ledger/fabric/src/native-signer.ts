import { sign, type KeyObject } from 'node:crypto';

/** Of a curve (FIPS 186-5): its order, and half of it. */
interface Curve {
  readonly order: Buffer;
  readonly half: Buffer;
}

const curveOf = (order: string, half: string): Curve => ({
  order: Buffer.from(order, 'hex'),
  half: Buffer.from(half, 'hex'),
});

/** Those that Fabric's identities have, by the names of OpenSSL. */
const CURVES: Readonly<Record<string, Curve>> = {
  prime256v1: curveOf(
    'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
    '7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8',
  ),
  secp384r1: curveOf(
    'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
    '7fffffffffffffffffffffffffffffffffffffffffffffffe3b1a6c0fa1b96efac0d06d9245853bd76760cb5666294b9',
  ),
};

/** Offset after the sequence's tag and length, and r's tag. */
const R_LENGTH_AT = 3;

const curveOfKey = (key: KeyObject): Curve | undefined => CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];

/** Whether `signLowS` takes the key: P-256 or P-384. */
export const canSign = (key: KeyObject): boolean => curveOfKey(key) !== undefined;

/**
 * An ECDSA signature over SHA-256 in DER, with the lower of the two possible values of s: Fabric rejects the higher one,
 * which prevents deriving a second signature from the first. Fabric hashes with SHA-256 for P-384 too.
 *
 * Uses node:crypto, because the JavaScript signer of the gateway client takes milliseconds.
 * @throws Error for a key that `canSign` refuses
 */
export function signLowS(key: KeyObject, message: Uint8Array): Buffer {
  const curve = curveOfKey(key);
  if (curve === undefined) throw new Error('The key is of neither P-256 nor P-384.');
  return withLowS(sign('sha256', message, key), curve);
}

/**
 * ECDSA-Sig-Value (RFC 3279 section 2.2.3) is a sequence of the integers r and s, in minimal length and non-negative;
 * for these curves every length fits in one byte.
 */
function withLowS(der: Buffer, { order, half }: Curve): Buffer {
  const rBytes = der[R_LENGTH_AT]!;
  const sStart = R_LENGTH_AT + 1 + rBytes + 2;
  const s = der.subarray(sStart);
  // A scalar that is a byte shorter than the order is below half of it.
  if (s.length < order.length) return der;
  const scalar = s.length > order.length ? s.subarray(s.length - order.length) : s;
  if (scalar.compare(half) <= 0) return der;
  const low = difference(order, scalar);
  const start = firstByteOf(low);
  const pad = low[start]! >> 7;
  const sBytes = order.length - start + pad;
  const signature = Buffer.alloc(sStart + sBytes);
  der.copy(signature, 0, 0, sStart);
  signature[1] = sStart + sBytes - 2;
  signature[sStart - 1] = sBytes;
  low.copy(signature, sStart + pad, start);
  return signature;
}

/** a - b, of the same length. */
function difference(a: Buffer, b: Buffer): Buffer {
  const result = Buffer.alloc(a.length);
  let borrow = 0;
  for (let at = a.length - 1; at >= 0; at -= 1) {
    const byte = a[at]! - b[at]! - borrow;
    borrow = byte < 0 ? 1 : 0;
    result[at] = byte + (borrow << 8);
  }
  return result;
}

function firstByteOf(scalar: Buffer): number {
  let at = 0;
  while (at < scalar.length - 1 && scalar[at] === 0) at += 1;
  return at;
}
