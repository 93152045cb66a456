import { createHmac, createSecretKey, verify, type KeyObject } from 'node:crypto';
import { sha256 } from '@sealgate/json';
import {
  exactBytes,
  isSameText,
  malformedHeader,
  MOST_SIGNATURES,
  neededHeader,
  neededId,
  NO_MATCH,
  timestampOf,
  type RawDelivery,
  type Scheme,
  type Unvouched,
  type Vouched,
} from './scheme.ts';
import type { SchemeKey } from '../caller.ts';
import { ed25519Key } from './signature.ts';

/** Some senders show the secret behind the version of the signature. */
const SECRET = /^(?:v1,)?whsec_(.*)$/;
const PUBLIC_PREFIX = 'whpk_';
/** The specification asks for 24 to 64 bytes. */
const SECRET_BYTES = { min: 24, max: 64 };
const ED25519_KEY_BYTES = 32;
const ED25519_SIGNATURE_BYTES = 64;

/**
 * Standard Webhooks (standardwebhooks.com): `webhook-signature` is a list of `<version>,<base64>` over
 * `<webhook-id>.<webhook-timestamp>.<body>`, `v1` by HMAC-SHA256 and `v1a` by Ed25519. Svix, from which it comes, sends
 * the same under the names `svix-id`, `svix-timestamp` and `svix-signature`.
 */
export const standardWebhooks: Scheme = {
  secretForm: () => '`whsec_` and 24 to 64 bytes in base64, or `whpk_` and an Ed25519 public key in base64',
  readKey: (value) => (value.startsWith(PUBLIC_PREFIX) ? publicKeyOf(value) : secretKeyOf(value)),
  deliveryIdFrom: 'header:webhook-id',
  typeFrom: '/type',
  verify(delivery, { keys }) {
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

/** The parts of a delivery that are signed, with its signatures. Names are never mixed. */
function signedOf(delivery: RawDelivery): (Signed & { readonly signatures: readonly string[] }) | Unvouched {
  const isSvix = delivery.header('webhook-signature') === undefined && delivery.header('svix-signature') !== undefined;
  const names = isSvix ? 'svix' : 'webhook';
  const deliveryId = neededId(delivery, `${names}-id`);
  if (typeof deliveryId !== 'string') return deliveryId;
  // The specification allows none: bytes of the body could be passed off as part of the id, under the same signature.
  if (deliveryId.includes('.')) return malformedHeader(`${names}-id`);
  const time = neededHeader(delivery, `${names}-timestamp`);
  if (typeof time !== 'string') return time;
  const timestamp = timestampOf(time);
  if (timestamp === undefined) return malformedHeader(`${names}-timestamp`);
  const text = neededHeader(delivery, `${names}-signature`);
  if (typeof text !== 'string') return text;
  const signatures = text.split(' ');
  if (signatures.length > MOST_SIGNATURES) return malformedHeader(`${names}-signature`);
  return { deliveryId, timestamp, before: `${deliveryId}.${timestamp}.`, body: delivery.body, signatures };
}

type Found = Pick<Vouched, 'keyId' | 'evidence'>;

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
  const bytes = exactBytes(SECRET.exec(value)?.[1] ?? '');
  if (bytes === undefined || bytes.length < SECRET_BYTES.min || bytes.length > SECRET_BYTES.max) return undefined;
  return createSecretKey(bytes);
}

function publicKeyOf(value: string): KeyObject | undefined {
  const bytes = exactBytes(value.slice(PUBLIC_PREFIX.length));
  return bytes?.length === ED25519_KEY_BYTES ? ed25519Key(bytes) : undefined;
}
