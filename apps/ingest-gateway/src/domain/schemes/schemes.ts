import assert from 'node:assert/strict';
import { hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { LiveSource } from '../caller.ts';
import {
  DEFAULT_TOLERANCE_SECONDS,
  type SchemeName,
  type SignatureForm,
  type SourceSettings,
  type TokenPlace,
} from '../source.ts';
import {
  isVouched,
  malformedHeader,
  neededHeader,
  NO_MATCH,
  TEXT_SECRET_FORM,
  textKey,
  type RawDelivery,
  type Scheme,
  type Unvouched,
  type Vouched,
} from './scheme.ts';
import { signatureScheme } from './signature.ts';
import { standardWebhooks } from './standard-webhooks.ts';

/** A token that the sender puts into a header. It authenticates the sender, not the content. */
const sharedToken: Scheme = {
  secretForm: ({ token }) => `${isBasic(token) ? '`user:password`, ' : ''}${TEXT_SECRET_FORM}`,
  // Without a colon, no sender could send it as basic credentials.
  readKey: (value, { token }) => (isBasic(token) && !value.includes(':') ? undefined : textKey(value)),
  verify(delivery, { keys, settings }) {
    const token = tokenOf(settings);
    const given = neededHeader(delivery, token.header);
    if (typeof given !== 'string') return given;
    if (!startsAs(given, token)) return malformedHeader(token.header);
    // Hashes are compared, so not even the length of a token leaks.
    const presented = hash('sha256', given.slice(token.prefix.length), 'buffer');
    const found = keys.find(({ key }) => timingSafeEqual(hash('sha256', sentToken(key, token), 'buffer'), presented));
    return found === undefined ? NO_MATCH : { keyId: found.id };
  },
  sign({ key }, { settings }) {
    const token = tokenOf(settings);
    return { [token.header]: token.prefix + sentToken(key.key, token) };
  },
};

/** The name of an authentication scheme may be in any case (RFC 9110, section 11.1); any other prefix is exact. */
function startsAs(given: string, { header, prefix }: TokenPlace): boolean {
  const start = given.slice(0, prefix.length);
  const isScheme = header === 'authorization' && /^[A-Za-z]+ $/.test(prefix);
  return isScheme ? start.toLowerCase() === prefix.toLowerCase() : start === prefix;
}

const isBasic = (token: TokenPlace | undefined): boolean =>
  token?.encoding === 'base64' && token.prefix.trim().toLowerCase() === 'basic';

function tokenOf({ token }: SourceSettings): TokenPlace {
  assert(token !== undefined, 'A source of the scheme token has the setting token.');
  return token;
}

const sentToken = (key: KeyObject, { encoding }: TokenPlace): string =>
  key.export().toString(encoding === 'base64' ? 'base64' : 'latin1');

const plain = { algorithm: 'sha256', encoding: 'hex', prefix: '', signed: '{body}' } as const;

const github: SignatureForm = { ...plain, header: 'x-hub-signature-256', prefix: 'sha256=' };

/** Signs with two secrets while one is rolled; the member `v0` is ignored. */
const stripe: SignatureForm = {
  ...plain,
  header: 'stripe-signature',
  signatureMember: 'v1',
  timestampMember: 't',
  signed: '{timestamp}.{body}',
};

const shopify: SignatureForm = { ...plain, header: 'x-shopify-hmac-sha256', encoding: 'base64' };

const slack: SignatureForm = {
  ...plain,
  header: 'x-slack-signature',
  prefix: 'v0=',
  signed: 'v0:{timestamp}:{body}',
  timestampHeader: 'x-slack-request-timestamp',
};

/** All supported schemes. */
export const SCHEMES: Readonly<Record<SchemeName, Scheme>> = {
  'standard-webhooks': standardWebhooks,
  github: signatureScheme(() => github, {
    deliveryIdFrom: 'header:x-github-delivery',
    typeFrom: 'header:x-github-event',
  }),
  stripe: signatureScheme(() => stripe, { deliveryIdFrom: '/id', typeFrom: '/type' }),
  shopify: signatureScheme(() => shopify, {
    deliveryIdFrom: 'header:x-shopify-webhook-id',
    typeFrom: 'header:x-shopify-topic',
  }),
  slack: signatureScheme(() => slack, { deliveryIdFrom: '/event_id', typeFrom: '/event/type', answersChallenge: true }),
  hmac: signatureScheme(ownForm),
  token: sharedToken,
};

function ownForm({ signature }: SourceSettings): SignatureForm {
  assert(signature !== undefined, 'A source of the scheme hmac has the setting signature.');
  return signature;
}

/**
 * Whether a delivery received at `atMs` is rightly signed by its source, with a recent timestamp; and if not, why.
 *
 * @throws AppError UNAVAILABLE where the signature covers a URL that this process does not know.
 */
export function vouch(
  source: Pick<LiveSource, 'scheme' | 'keys' | 'settings' | 'url'>,
  delivery: RawDelivery,
  atMs: number,
): Vouched | Unvouched {
  const verdict = SCHEMES[source.scheme].verify(delivery, source);
  if (!isVouched(verdict) || verdict.timestamp === undefined) return verdict;
  const seconds = verdict.timestamp - atMs / 1000;
  const { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = source.settings;
  return Math.abs(seconds) <= toleranceSeconds ? verdict : { unvouched: 'clock-skew', seconds: Math.round(seconds) };
}
