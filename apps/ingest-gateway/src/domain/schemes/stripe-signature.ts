import { createHmac, type KeyObject } from 'node:crypto';
import { isSameText, MAX_SIGNATURE_LENGTH, TEXT_SECRET_FORM, textKey, timestampOf, type Scheme } from './scheme.ts';

const HEADER = 'stripe-signature';
/** While a secret is rolled there are two. */
const MOST_SIGNATURES = 10;

/** Stripe's: `t=<timestamp>,v1=<hex>,v1=<hex>`, HMAC-SHA256 over `<timestamp>.<body>`. Other versions are passed over. */
export const stripeSignature: Scheme = {
  secretForm: TEXT_SECRET_FORM,
  readKey: textKey,
  deliveryIdFrom: '/id',
  typeFrom: '/type',
  verify({ header, body }, keys) {
    const parts = partsOf(header(HEADER));
    if (parts === undefined) return undefined;
    const { timestamp, signatures } = parts;
    for (const { id, key } of keys) {
      const expected = digestOf(key, timestamp, body);
      if (signatures.some((signature) => isSameText(signature, expected))) return { keyId: id, timestamp };
    }
    return undefined;
  },
  sign: ({ key, body, timestamp }) => ({ [HEADER]: `t=${timestamp},v1=${digestOf(key.key, timestamp, body)}` }),
};

function partsOf(text: string | undefined): { timestamp: number; signatures: string[] } | undefined {
  if (text === undefined || text.length > MAX_SIGNATURE_LENGTH) return undefined;
  let timestamp: number | undefined;
  const signatures: string[] = [];
  for (const part of text.split(',')) {
    const equals = part.indexOf('=');
    const [name, value] = [part.slice(0, equals), part.slice(equals + 1)];
    if (name === 't') {
      // Of two timestamps nobody could say which one was signed.
      if (timestamp !== undefined) return undefined;
      timestamp = timestampOf(value);
      if (timestamp === undefined) return undefined;
    } else if (name === 'v1') signatures.push(value);
  }
  const isBounded = signatures.length > 0 && signatures.length <= MOST_SIGNATURES;
  return timestamp === undefined || !isBounded ? undefined : { timestamp, signatures };
}

const digestOf = (key: KeyObject, timestamp: number, body: Buffer): string =>
  createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex');
