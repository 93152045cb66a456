import { AppError } from '@sealgate/errors';
import { Bytes, parseStrict } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { ed25519Key } from '@sealgate/merkle';
import type { Jwks, PublicJwk } from './public-jwk.ts';

type DetachedVerdict =
  | { readonly ok: true; readonly kid: string }
  | { readonly ok: false; readonly problem: string; readonly reason: 'unknown_key' | 'bad_signature' };

const ED25519_SIGNATURE_BYTES = 64;
const ED25519_KEY_BYTES = 32;
/** Valid signatures are about 100 characters; the limit bounds the cost of parsing an untrusted header. */
const MAX_JWS_CHARACTERS = 4096;

/**
 * Verifies a detached JWS over exactly these bytes with pinned keys. The key is looked up by `kid` in `jwks` only;
 * `jku`, `jwk` and similar header members are never used. Never throws; `problem` is a sentence for people.
 */
export function verifyDetached(bytes: Uint8Array, jws: string, jwks: Jwks): DetachedVerdict {
  const parts = splitDetached(jws);
  if ('problem' in parts) return bad(parts.problem);
  const header = readHeader(parts.header);
  if ('problem' in header) return bad(header.problem);
  const pinned = jwks.keys.filter(({ kid }) => kid === header.kid);
  const [key] = pinned;
  const unknown = (problem: string): DetachedVerdict => ({ ok: false, problem, reason: 'unknown_key' });
  if (key === undefined) return unknown(`No pinned key is named ${header.kid}.`);
  if (pinned.length > 1) return unknown(`More than one pinned key is named ${header.kid}.`);
  const point = pointOf(key);
  if (point === undefined) return unknown(`The pinned key ${header.kid} is not an Ed25519 signing key.`);
  // Only `x` determines the key; other members of the JWK are ignored.
  const isSigned = ed25519Key(point).verify(signingInput(parts.header, bytes), parts.signature);
  if (isSigned) return { ok: true, kid: header.kid };
  return bad(`The signature by ${header.kid} is not over these bytes.`);
}

const bad = (problem: string): DetachedVerdict => ({ ok: false, problem, reason: 'bad_signature' });

function splitDetached(jws: string): { header: string; signature: Bytes } | { problem: string } {
  if (jws.length > MAX_JWS_CHARACTERS) return { problem: 'The signature is too long to be one of ours.' };
  const [header, payload, encoded, ...rest] = jws.split('.');
  if (header === undefined || payload === undefined || encoded === undefined || rest.length > 0) {
    return { problem: 'A detached signature has three parts, <header>..<signature>.' };
  }
  if (payload !== '') return { problem: 'The signature carries a payload of its own, so it is not detached.' };
  const signature = decodeBase64Url(encoded);
  if (signature?.length !== ED25519_SIGNATURE_BYTES) {
    return { problem: `The third part of the signature is not ${ED25519_SIGNATURE_BYTES} bytes of base64url.` };
  }
  return { header, signature };
}

function readHeader(encoded: string): { kid: string } | { problem: string } {
  const header = parsedHeader(encoded);
  if (header === undefined) return { problem: 'The header of the signature is not a base64url JSON object.' };
  if (header['alg'] !== 'EdDSA') return { problem: 'The signature does not use EdDSA.' };
  // `crit` lists extensions that a verifier must understand (RFC 7515, section 4.1.11), such as `b64`; none is
  // supported.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) {
    return { problem: 'The signature uses an extension that is not known here.' };
  }
  const { kid } = header;
  if (typeof kid !== 'string' || kid === '') return { problem: 'The signature does not name its key (kid).' };
  return { kid };
}

function parsedHeader(encoded: string): { [member: string]: JsonValue } | undefined {
  const bytes = decodeBase64Url(encoded);
  if (bytes === undefined) return undefined;
  try {
    const value = parseStrict(bytes);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** The 32 bytes of an Ed25519 key; undefined for other key types. */
function pointOf(key: PublicJwk): Bytes | undefined {
  // The set comes from a file or the network: its type is unchecked until here.
  if (key.kty !== 'OKP' || key.crv !== 'Ed25519' || typeof key.x !== 'string') return undefined;
  const point = decodeBase64Url(key.x);
  return point?.length === ED25519_KEY_BYTES ? point : undefined;
}

/** The JWS signing input: encoded header, dot, encoded payload (RFC 7515, section 5.1). */
export function signingInput(encodedHeader: string, payload: Uint8Array): Bytes {
  const view = Bytes.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return Bytes.from(`${encodedHeader}.${view.toString('base64url')}`, 'latin1');
}

/** Strict base64url: no padding, one encoding per value. */
function decodeBase64Url(text: string): Bytes | undefined {
  const bytes = Bytes.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
