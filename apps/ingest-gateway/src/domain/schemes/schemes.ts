import assert from 'node:assert/strict';
import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import { DEFAULT_TOLERANCE_SECONDS, type LiveSource, type SchemeName, type SourceSettings } from '../caller.ts';
import {
  isSameText,
  isVouched,
  malformedHeader,
  MAX_SIGNATURE_LENGTH,
  missingHeader,
  NO_MATCH,
  TEXT_SECRET_FORM,
  textKey,
  timestampOf,
  type RawDelivery,
  type Scheme,
  type SchemeKey,
  type Unvouched,
  type Vouched,
} from './scheme.ts';
import { standardWebhooks } from './standard-webhooks.ts';

export const HMAC_ALGORITHMS = ['sha1', 'sha256', 'sha512'] as const;
export const HMAC_ENCODINGS = ['hex', 'base64'] as const;

/** How one HMAC over a delivery is computed and sent; most senders differ only in this. */
export interface HmacForm {
  /** Lower case. */
  readonly header: string;
  readonly algorithm: (typeof HMAC_ALGORITHMS)[number];
  /** Hex is in lower case. */
  readonly encoding: (typeof HMAC_ENCODINGS)[number];
  /** The text before the signature in its header. */
  readonly prefix: string;
  /** The text signed before the body; `{timestamp}` in it is the value of `timestampHeader`. */
  readonly signedBefore: string;
  readonly timestampHeader?: string | undefined;
}

/** A scheme of one HMAC: `formOf` returns its form, from the settings of a source or fixed. */
function hmacScheme(
  formOf: (settings: Parameters<Scheme['verify']>[2]) => HmacForm,
  rest: Pick<Scheme, 'deliveryIdFrom' | 'typeFrom' | 'answersChallenge'> = {},
): Scheme {
  return {
    ...rest,
    secretForm: TEXT_SECRET_FORM,
    readKey: textKey,
    verify: (delivery, keys, settings) => verifyHmac(formOf(settings), delivery, keys),
    sign({ key, body, timestamp, deliveryId }, settings) {
      const form = formOf(settings);
      const { header, prefix, timestampHeader } = form;
      const before = form.signedBefore.replace('{timestamp}', String(timestamp));
      const idHeader = rest.deliveryIdFrom?.startsWith('header:') === true ? rest.deliveryIdFrom.slice(7) : undefined;
      return {
        [header]: prefix + digestOf(form, key.key, before, body),
        ...(timestampHeader === undefined ? {} : { [timestampHeader]: String(timestamp) }),
        ...(idHeader === undefined ? {} : { [idHeader]: deliveryId }),
      };
    },
  };
}

function verifyHmac(form: HmacForm, { header, body }: RawDelivery, keys: readonly SchemeKey[]): Vouched | Unvouched {
  const given = header(form.header);
  if (given === undefined || given === '') return missingHeader(form.header);
  if (given.length > MAX_SIGNATURE_LENGTH || !given.startsWith(form.prefix)) return malformedHeader(form.header);
  const signature = given.slice(form.prefix.length);
  const { timestampHeader } = form;
  const time = timestampHeader === undefined ? undefined : header(timestampHeader);
  const timestamp = timestampOf(time);
  if (timestampHeader !== undefined && timestamp === undefined)
    return time === undefined || time === '' ? missingHeader(timestampHeader) : malformedHeader(timestampHeader);
  const before =
    timestamp === undefined ? form.signedBefore : form.signedBefore.replace('{timestamp}', String(timestamp));
  for (const { id, key } of keys) {
    if (isSameText(digestOf(form, key, before, body), signature)) {
      return { keyId: id, ...(timestamp === undefined ? {} : { timestamp }) };
    }
  }
  return NO_MATCH;
}

/** Compared as text, because several base64 texts decode to the same bytes, and only one is the signature. */
function digestOf({ algorithm, encoding }: HmacForm, key: KeyObject, before: string, body: Buffer): string {
  const hmac = createHmac(algorithm, key);
  if (before !== '') hmac.update(before);
  return hmac.update(body).digest(encoding);
}

const STRIPE_HEADER = 'stripe-signature';
/** A sender signs with two secrets while one is rolled. */
const MOST_SIGNATURES = 10;

/** Stripe: `t=<timestamp>,v1=<hex>,v1=<hex>`, HMAC-SHA256 over `<timestamp>.<body>`. Ignores other versions. */
const stripeSignature: Scheme = {
  secretForm: TEXT_SECRET_FORM,
  readKey: textKey,
  deliveryIdFrom: '/id',
  typeFrom: '/type',
  verify({ header, body }, keys) {
    const given = header(STRIPE_HEADER);
    const parts = stripeParts(given);
    if (parts === undefined)
      return given === undefined || given === '' ? missingHeader(STRIPE_HEADER) : malformedHeader(STRIPE_HEADER);
    const { timestamp, signatures } = parts;
    for (const { id, key } of keys) {
      const expected = stripeDigest(key, timestamp, body);
      if (signatures.some((signature) => isSameText(signature, expected))) return { keyId: id, timestamp };
    }
    return NO_MATCH;
  },
  sign: ({ key, body, timestamp }) => ({
    [STRIPE_HEADER]: `t=${timestamp},v1=${stripeDigest(key.key, timestamp, body)}`,
  }),
};

function stripeParts(text: string | undefined): { timestamp: number; signatures: string[] } | undefined {
  if (text === undefined || text.length > MAX_SIGNATURE_LENGTH) return undefined;
  let timestamp: number | undefined;
  const signatures: string[] = [];
  for (const part of text.split(',')) {
    const equals = part.indexOf('=');
    const [name, value] = [part.slice(0, equals), part.slice(equals + 1)];
    if (name === 't') {
      // With two timestamps it is ambiguous which one was signed.
      if (timestamp !== undefined) return undefined;
      timestamp = timestampOf(value);
      if (timestamp === undefined) return undefined;
    } else if (name === 'v1') signatures.push(value);
  }
  const isBounded = signatures.length > 0 && signatures.length <= MOST_SIGNATURES;
  return timestamp === undefined || !isBounded ? undefined : { timestamp, signatures };
}

const stripeDigest = (key: KeyObject, timestamp: number, body: Buffer): string =>
  createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex');

/** Where a shared token is sent. */
export interface TokenPlace {
  /** Lower case. */
  readonly header: string;
  /** The text before the token, such as `Bearer `. */
  readonly prefix: string;
}

/** A token that the sender puts into a header. It authenticates the sender, not the content. */
const sharedToken: Scheme = {
  secretForm: TEXT_SECRET_FORM,
  readKey: textKey,
  verify({ header }, keys, { token }) {
    assert(token !== undefined, 'A source of the scheme token has the setting token.');
    const given = header(token.header);
    if (given === undefined || given === '') return missingHeader(token.header);
    if (given.length > MAX_SIGNATURE_LENGTH || !given.startsWith(token.prefix)) return malformedHeader(token.header);
    // Hashes are compared, so not even the length of a token leaks.
    const presented = hash('sha256', given.slice(token.prefix.length), 'buffer');
    const found = keys.find(({ key }) => timingSafeEqual(hash('sha256', key.export(), 'buffer'), presented));
    return found === undefined ? NO_MATCH : { keyId: found.id };
  },
  sign: ({ key }, { token }) =>
    token === undefined ? undefined : { [token.header]: token.prefix + key.key.export().toString('latin1') },
};

const github: HmacForm = {
  header: 'x-hub-signature-256',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: 'sha256=',
  signedBefore: '',
};

const shopify: HmacForm = {
  header: 'x-shopify-hmac-sha256',
  algorithm: 'sha256',
  encoding: 'base64',
  prefix: '',
  signedBefore: '',
};

const slack: HmacForm = {
  header: 'x-slack-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: 'v0=',
  signedBefore: 'v0:{timestamp}:',
  timestampHeader: 'x-slack-request-timestamp',
};

/** All supported schemes. */
export const SCHEMES: Readonly<Record<SchemeName, Scheme>> = {
  'standard-webhooks': standardWebhooks,
  github: hmacScheme(() => github, {
    deliveryIdFrom: 'header:x-github-delivery',
    typeFrom: 'header:x-github-event',
  }),
  stripe: stripeSignature,
  shopify: hmacScheme(() => shopify, {
    deliveryIdFrom: 'header:x-shopify-webhook-id',
    typeFrom: 'header:x-shopify-topic',
  }),
  slack: hmacScheme(() => slack, { deliveryIdFrom: '/event_id', typeFrom: '/event/type', answersChallenge: true }),
  hmac: hmacScheme(ownForm),
  token: sharedToken,
};

function ownForm({ signature }: SourceSettings): HmacForm {
  assert(signature !== undefined, 'A source of the scheme hmac has the setting signature.');
  return signature;
}

/** Whether a delivery received at `atMs` is rightly signed by its source, with a recent timestamp; and if not, why. */
export function vouch(
  { scheme, keys, settings }: Pick<LiveSource, 'scheme' | 'keys' | 'settings'>,
  delivery: RawDelivery,
  atMs: number,
): Vouched | Unvouched {
  const verdict = SCHEMES[scheme].verify(delivery, keys, settings);
  if (!isVouched(verdict) || verdict.timestamp === undefined) return verdict;
  const seconds = verdict.timestamp - atMs / 1000;
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = settings;
  return Math.abs(seconds) <= toleranceSeconds ? verdict : { unvouched: 'clock-skew', seconds: Math.round(seconds) };
}
