import { createHmac, createPublicKey, createSecretKey, verify, type KeyObject } from 'node:crypto';
import { sha256 } from '@sealgate/json';
import {
  isSameText,
  malformedHeader,
  MAX_SIGNATURE_LENGTH,
  missingHeader,
  NO_MATCH,
  timestampOf,
  type RawDelivery,
  type Scheme,
  type SchemeKey,
  type Unvouched,
  type Vouched,
} from './scheme.ts';

const SECRET_PREFIX = 'whsec_';
const PUBLIC_PREFIX = 'whpk_';
/** The specification asks for 24 to 64 bytes. */
const SECRET_BYTES = { min: 24, max: 64 };
const ED25519_KEY_BYTES = 32;
const ED25519_SIGNATURE_BYTES = 64;
const MOST_SIGNATURES = 10;
const MAX_ID_LENGTH = 256;
const HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

/**
 * Standard Webhooks (standardwebhooks.com): `webhook-signature` is a list of `<version>,<base64>` over
 * `<webhook-id>.<webhook-timestamp>.<body>`, `v1` by HMAC-SHA256 and `v1a` by Ed25519.
 */
export const standardWebhooks: Scheme = {
  secretForm: `\`${SECRET_PREFIX}\` and 24 to 64 bytes in base64, or \`${PUBLIC_PREFIX}\` and an Ed25519 public key in base64`,
  readKey: (value) => (value.startsWith(PUBLIC_PREFIX) ? publicKeyOf(value) : secretKeyOf(value)),
  deliveryIdFrom: 'header:webhook-id',
  typeFrom: '/type',
  verify(delivery, keys) {
    const signed = signedOf(delivery);
    if ('unvouched' in signed) return signed;
    const { deliveryId, timestamp, signatures } = signed;
    for (const key of keys) {
      const found =
        key.key.type === 'public' ? byPublicKey(key, signed, signatures) : bySecret(key, signed, signatures);
      if (found !== undefined) return { ...found, deliveryId, timestamp };
    }
    return NO_MATCH;
  },
  sign({ key, body, deliveryId, timestamp }) {
    if (key.key.type === 'public') return undefined;
    const signed = { deliveryId, timestamp, before: `${deliveryId}.${timestamp}.`, body };
    return {
      'webhook-id': deliveryId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${digestOf(key.key, signed)}`,
    };
  },
};

interface Signed {
  readonly deliveryId: string;
  readonly timestamp: number;
  readonly before: string;
  readonly body: Buffer;
}

type Found = Pick<Vouched, 'keyId' | 'evidence'>;

/** The parts of a delivery that are signed, with its signatures. */
function signedOf({ header, body }: RawDelivery): (Signed & { readonly signatures: readonly string[] }) | Unvouched {
  for (const name of HEADERS) {
    const text = header(name);
    if (text === undefined || text === '') return missingHeader(name);
    if (text.length > (name === 'webhook-id' ? MAX_ID_LENGTH : MAX_SIGNATURE_LENGTH)) return malformedHeader(name);
  }
  const [deliveryId = '', time, text = ''] = HEADERS.map((name) => header(name));
  const timestamp = timestampOf(time);
  if (timestamp === undefined) return malformedHeader('webhook-timestamp');
  const signatures = text.split(' ');
  if (signatures.length > MOST_SIGNATURES) return malformedHeader('webhook-signature');
  return { deliveryId, timestamp, before: `${deliveryId}.${timestamp}.`, body, signatures };
}

function bySecret({ id, key }: SchemeKey, signed: Signed, signatures: readonly string[]): Found | undefined {
  if (!signatures.some((one) => one.startsWith('v1,'))) return undefined;
  const expected = `v1,${digestOf(key, signed)}`;
  return signatures.some((one) => isSameText(one, expected)) ? { keyId: id } : undefined;
}

function byPublicKey({ id, key }: SchemeKey, signed: Signed, signatures: readonly string[]): Found | undefined {
  let bytes: Buffer | undefined;
  for (const text of signatures) {
    if (!text.startsWith('v1a,')) continue;
    const signature = exactBytes(text.slice(4));
    if (signature?.length !== ED25519_SIGNATURE_BYTES) continue;
    bytes ??= Buffer.concat([Buffer.from(signed.before), signed.body]);
    if (!verify(null, bytes, key, signature)) continue;
    return { keyId: id, evidence: { signature: text, signedSha256: sha256(bytes).toString('hex') } };
  }
  return undefined;
}

const digestOf = (key: KeyObject, { before, body }: Signed): string =>
  createHmac('sha256', key).update(before).update(body).digest('base64');

function secretKeyOf(value: string): KeyObject | undefined {
  const bytes = value.startsWith(SECRET_PREFIX) ? exactBytes(value.slice(SECRET_PREFIX.length)) : undefined;
  if (bytes === undefined || bytes.length < SECRET_BYTES.min || bytes.length > SECRET_BYTES.max) return undefined;
  return createSecretKey(bytes);
}

function publicKeyOf(value: string): KeyObject | undefined {
  const bytes = exactBytes(value.slice(PUBLIC_PREFIX.length));
  if (bytes?.length !== ED25519_KEY_BYTES) return undefined;
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
}

/** The bytes of a base64 text with padding; undefined unless it is the canonical encoding of those bytes. */
function exactBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
