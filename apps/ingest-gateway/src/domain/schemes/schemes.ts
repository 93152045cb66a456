import assert from 'node:assert/strict';
import type { SchemeName, SourceSettings } from '../source.ts';
import { hmacScheme, type HmacForm } from './hmac-signature.ts';
import type { Scheme } from './scheme.ts';
import { sharedToken } from './shared-token.ts';
import { standardWebhooks } from './standard-webhooks.ts';
import { stripeSignature } from './stripe-signature.ts';

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

/** All schemes: what is not here cannot be sent. */
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
  assert(signature !== undefined, 'A source of the scheme hmac says how it signs.');
  return signature;
}
