import { Bytes } from '@sealgate/json';

/** Object identifiers of the curves of Fabric's identities, and their orders (FIPS 186-5). */
const CURVES = {
  '1.2.840.10045.3.1.7': {
    namedCurve: 'P-256',
    bytes: 32,
    order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  },
  '1.3.132.0.34': {
    namedCurve: 'P-384',
    bytes: 48,
    order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  },
} as const;

export type SignatureFault = 'not by this key' | 'in the high form, which Fabric rejects' | 'not of P-256 or P-384';

/**
 * Checks a signature of a member: ECDSA over SHA-256 (also with P-384), in DER, with the lower of the two values of s.
 * Undefined: it is valid.
 */
export async function signatureFault(
  { curve, spki }: { readonly curve: string | undefined; readonly spki: Uint8Array<ArrayBuffer> },
  data: Uint8Array<ArrayBuffer>,
  signature: Bytes,
): Promise<SignatureFault | undefined> {
  if (curve === undefined || !Object.hasOwn(CURVES, curve)) return 'not of P-256 or P-384';
  const { namedCurve, bytes, order } = CURVES[curve as keyof typeof CURVES];
  const scalars = scalarsOf(signature);
  if (scalars === undefined || scalars.some((scalar) => scalar <= 0n || scalar >= order)) return 'not by this key';
  const [, s] = scalars;
  if (s > order / 2n) return 'in the high form, which Fabric rejects';
  const algorithm = { name: 'ECDSA', namedCurve };
  const key = await crypto.subtle.importKey('spki', spki, algorithm, false, ['verify']).catch(() => undefined);
  if (key === undefined) return 'not by this key';
  const raw = Bytes.concat(scalars.map((scalar) => Bytes.from(scalar.toString(16).padStart(2 * bytes, '0'), 'hex')));
  const isValid = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, new Uint8Array(raw), data);
  return isValid ? undefined : 'not by this key';
}

/** ECDSA-Sig-Value (RFC 3279): a sequence of two integers, each in its shortest form. Undefined: it is none. */
function scalarsOf(der: Bytes): readonly [bigint, bigint] | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const r = integerAt(der, 2);
  const s = r === undefined ? undefined : integerAt(der, r.end);
  return r === undefined || s?.end !== der.length ? undefined : [r.value, s.value];
}

function integerAt(der: Bytes, at: number): { readonly value: bigint; readonly end: number } | undefined {
  const length = der[at + 1] ?? 0;
  const end = at + 2 + length;
  if (der[at] !== 0x02 || length === 0 || length > 0x7f || end > der.length) return undefined;
  const [first = 0, second = 0] = der.subarray(at + 2, end);
  const isNegative = first > 0x7f;
  const isPadded = length > 1 && first === 0 && second <= 0x7f;
  if (isNegative || isPadded) return undefined;
  return { value: BigInt(`0x${der.subarray(at + 2, end).toString('hex')}`), end };
}
