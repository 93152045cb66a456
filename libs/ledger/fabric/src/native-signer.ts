import { sign, type KeyObject } from 'node:crypto';

/** Half of the order of P-256 (FIPS 186-5), as 32 bytes. */
const HALF_ORDER = Buffer.from('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8', 'hex');
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
const SCALAR_BYTES = 32;
/** Offset after the sequence's tag and length, and r's tag. */
const R_LENGTH_AT = 3;

/**
 * An ECDSA signature over P-256 and SHA-256 in DER, with the lower of the two possible values of s: Fabric rejects the
 * higher one, which prevents deriving a second signature from the first.
 *
 * Uses node:crypto, because the JavaScript signer of the gateway client takes milliseconds.
 */
export function signLowS(key: KeyObject, message: Uint8Array): Buffer {
  return withLowS(sign('sha256', message, key));
}

/**
 * ECDSA-Sig-Value (RFC 3279 section 2.2.3) is a sequence of the integers r and s, in minimal length and non-negative;
 * for P-256 every length fits in one byte.
 */
function withLowS(der: Buffer): Buffer {
  const rBytes = der[R_LENGTH_AT]!;
  const sStart = R_LENGTH_AT + 1 + rBytes + 2;
  const s = der.subarray(sStart);
  // s < 2^255 can exceed half the order only if it has all 32 bytes.
  if (s.length < SCALAR_BYTES) return der;
  const scalar = s.length > SCALAR_BYTES ? s.subarray(s.length - SCALAR_BYTES) : s;
  if (scalar.compare(HALF_ORDER) <= 0) return der;
  const low = fromOrder(scalar);
  const start = firstByteOf(low);
  const pad = low[start]! >> 7;
  const sBytes = SCALAR_BYTES - start + pad;
  const signature = Buffer.alloc(sStart + sBytes);
  der.copy(signature, 0, 0, sStart);
  signature[1] = sStart + sBytes - 2;
  signature[sStart - 1] = sBytes;
  low.copy(signature, sStart + pad, start);
  return signature;
}

/** n - s. */
function fromOrder(s: Buffer): Buffer {
  const low = Buffer.alloc(SCALAR_BYTES);
  let borrow = 0;
  for (let at = SCALAR_BYTES - 1; at >= 0; at -= 1) {
    const difference = ORDER[at]! - s[at]! - borrow;
    borrow = difference < 0 ? 1 : 0;
    low[at] = difference + (borrow << 8);
  }
  return low;
}

function firstByteOf(scalar: Buffer): number {
  let at = 0;
  while (at < SCALAR_BYTES - 1 && scalar[at] === 0) at += 1;
  return at;
}
