import { createHmac, generateKeyPairSync, randomBytes, sign as signBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { sign as signGithub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import type { SchemeKey } from '../caller.ts';
import type { SchemeName, SourceSettings } from '../source.ts';
import { isVouched } from './scheme.ts';
import { SCHEMES } from './schemes.ts';

const NOW_S = 1_780_000_000;
const BODY = '{"type":"thing.made","id":"evt_1","data":{"größe":1}}';

type Headers = Record<string, string>;

interface Sample {
  readonly scheme: SchemeName;
  readonly settings?: SourceSettings;
  readonly secret: string;
  /** Made independently: by the sender's library, or the vector of its documentation. */
  readonly headers: Headers;
  readonly body: string;
  readonly says: object;
}

const keyOf = (scheme: SchemeName, value: string, settings: SourceSettings = {}, id = 'k1'): SchemeKey => {
  const key = SCHEMES[scheme].readKey(value, settings);
  if (key === undefined) throw new Error(`${value} is no secret of ${scheme}.`);
  return { id, key };
};

function verify(
  { scheme, settings = {}, secret }: Pick<Sample, 'scheme' | 'settings' | 'secret'>,
  headers: Headers,
  body: string | Buffer,
) {
  const delivery = { header: (name: string) => headers[name], body: Buffer.from(body) };
  return SCHEMES[scheme].verify(delivery, { keys: [keyOf(scheme, secret, settings)], settings });
}

const standardSecret = `whsec_${randomBytes(24).toString('base64')}`;
const textSecret = 'It is a Secret of GitHub!';
const stripe = new Stripe('sk_test_none');
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const whpk = `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`;
const v1a = signBytes(null, Buffer.from(`msg_1.${NOW_S}.${BODY}`), privateKey).toString('base64');
const hmacOf = (algorithm: string, secret: string, text: string) => createHmac(algorithm, secret).update(text);

const samples: readonly (readonly [string, Sample])[] = [
  [
    'standard-webhooks, signed by its library',
    {
      scheme: 'standard-webhooks',
      secret: standardSecret,
      headers: {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(NOW_S),
        'webhook-signature': new Webhook(standardSecret).sign('msg_1', new Date(NOW_S * 1000), BODY),
      },
      body: BODY,
      says: { keyId: 'k1', timestamp: NOW_S, deliveryId: 'msg_1' },
    },
  ],
  [
    // The example of the specification and of each of its libraries.
    'standard-webhooks, the published vector',
    {
      scheme: 'standard-webhooks',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      body: '{"test": 2432232314}',
      says: { keyId: 'k1', timestamp: 1_614_265_330, deliveryId: 'msg_p5jXN8AQM9LWM0D4loKWxJek' },
    },
  ],
  [
    'standard-webhooks by a public key',
    {
      scheme: 'standard-webhooks',
      secret: whpk,
      headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': String(NOW_S), 'webhook-signature': `v1a,${v1a}` },
      body: BODY,
      says: {
        keyId: 'k1',
        timestamp: NOW_S,
        deliveryId: 'msg_1',
        evidence: { signature: `v1a,${v1a}`, signedSha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      },
    },
  ],
  [
    'github, signed by its library',
    {
      scheme: 'github',
      secret: textSecret,
      headers: { 'x-hub-signature-256': await signGithub(textSecret, BODY) },
      body: BODY,
      says: { keyId: 'k1' },
    },
  ],
  [
    // docs.github.com, "Validating webhook deliveries".
    'github, the published vector',
    {
      scheme: 'github',
      secret: "It's a Secret to Everybody",
      headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
      body: 'Hello, World!',
      says: { keyId: 'k1' },
    },
  ],
  [
    'stripe, signed by its library',
    {
      scheme: 'stripe',
      secret: 'whsec_test_secret_of_stripe',
      headers: {
        'stripe-signature': stripe.webhooks.generateTestHeaderString({
          payload: BODY,
          secret: 'whsec_test_secret_of_stripe',
          timestamp: NOW_S,
        }),
      },
      body: BODY,
      says: { keyId: 'k1', timestamp: NOW_S },
    },
  ],
  [
    'shopify, by hand from its documentation',
    {
      scheme: 'shopify',
      secret: 'shopify-client-secret',
      headers: { 'x-shopify-hmac-sha256': hmacOf('sha256', 'shopify-client-secret', BODY).digest('base64') },
      body: BODY,
      says: { keyId: 'k1' },
    },
  ],
  [
    // docs.slack.dev, "Verifying requests from Slack": secret, timestamp, body and signature are its example.
    'slack, the published vector',
    {
      scheme: 'slack',
      secret: '8f742231b10e8888abcd99yyyzzz85a5',
      headers: {
        'x-slack-request-timestamp': '1531420618',
        'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      },
      body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      says: { keyId: 'k1', timestamp: 1_531_420_618 },
    },
  ],
  [
    'hmac over the timestamp and the body, SHA-512 in base64 behind a prefix',
    {
      scheme: 'hmac',
      settings: {
        signature: {
          header: 'x-sig',
          algorithm: 'sha512',
          encoding: 'base64',
          prefix: 'v=',
          signed: '{timestamp}.{body}',
          timestampHeader: 'x-time',
        },
      },
      secret: 'a-secret-of-somebody',
      headers: {
        'x-time': String(NOW_S),
        'x-sig': `v=${hmacOf('sha512', 'a-secret-of-somebody', `${NOW_S}.${BODY}`).digest('base64')}`,
      },
      body: BODY,
      says: { keyId: 'k1', timestamp: NOW_S },
    },
  ],
  [
    'hmac over the body, SHA-1 in hex',
    {
      scheme: 'hmac',
      settings: { signature: { header: 'x-sig', algorithm: 'sha1', encoding: 'hex', prefix: '', signed: '{body}' } },
      secret: 'a-secret-of-somebody',
      headers: { 'x-sig': hmacOf('sha1', 'a-secret-of-somebody', BODY).digest('hex') },
      body: BODY,
      says: { keyId: 'k1' },
    },
  ],
  [
    'a token',
    {
      scheme: 'token',
      settings: { token: { header: 'authorization', prefix: 'Bearer ' } },
      secret: 'a-token-of-somebody',
      headers: { authorization: 'Bearer a-token-of-somebody' },
      body: BODY,
      says: { keyId: 'k1' },
    },
  ],
];

/** The text with each of its bits flipped, one at a time; header values are bytes. */
function* flipped(text: string): Generator<string> {
  const bytes = Buffer.from(text, 'latin1');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3]! ^= 1 << (bit & 7);
    yield copy.toString('latin1');
  }
}

function isOtherCaseOfScheme(name: string, value: string, other: string): boolean {
  const [scheme = '', rest] = other.split(' ', 2);
  const [right = '', token] = value.split(' ', 2);
  return name === 'authorization' && scheme.toLowerCase() === right.toLowerCase() && rest === token;
}

describe('a token', () => {
  it('is accepted behind its authentication scheme in any case, and behind no other prefix in another', () => {
    const judged = (header: string, prefix: string, given: string) => {
      const sample = {
        scheme: 'token',
        settings: { token: { header, prefix } },
        secret: 'a-token-of-somebody',
      } as const;
      const headers = { [header]: `${given}a-token-of-somebody` };
      return isVouched(verify(sample, headers, BODY));
    };
    for (const given of ['Bearer ', 'bearer ', 'BEARER ']) expect(judged('authorization', 'Bearer ', given)).toBe(true);
    expect(judged('authorization', 'Bearer ', 'Basic ')).toBe(false);
    expect(judged('x-token', 'Bearer ', 'bearer ')).toBe(false);
    expect(judged('authorization', 'key=', 'KEY=')).toBe(false);
  });
});

describe.each(samples)('%s', (_what, sample) => {
  const { headers, body, says } = sample;
  const isToken = sample.scheme === 'token';

  it('is valid', () => {
    expect(verify(sample, headers, body)).toEqual(says);
  });

  it('is invalid with any bit of a header flipped, and without the header', () => {
    for (const [name, value] of Object.entries(headers)) {
      // The name of an authentication scheme may be in any case.
      const changed = [...flipped(value)].filter((other) => !isOtherCaseOfScheme(name, value, other));
      for (const other of changed) expect(isVouched(verify(sample, { ...headers, [name]: other }, body))).toBe(false);
      const { [name]: _, ...others } = headers;
      expect(isVouched(verify(sample, others, body))).toBe(false);
      expect(isVouched(verify(sample, { ...headers, [name]: '' }, body))).toBe(false);
      expect(isVouched(verify(sample, { ...headers, [name]: 'x'.repeat(100_000) }, body))).toBe(false);
    }
  });

  (isToken ? it.skip : it)('is invalid with any bit of the body flipped', () => {
    for (const other of flipped(Buffer.from(body).toString('latin1'))) {
      expect(isVouched(verify(sample, headers, Buffer.from(other, 'latin1')))).toBe(false);
    }
    expect(isVouched(verify(sample, headers, ''))).toBe(false);
    expect(isVouched(verify(sample, headers, `${body} `))).toBe(false);
  });

  it('is invalid under another secret, and valid under the right one of several', () => {
    const { scheme, settings = {}, secret } = sample;
    const other =
      scheme === 'standard-webhooks' ? `whsec_${randomBytes(32).toString('base64')}` : 'another-secret-than-that';
    expect(isVouched(verify({ ...sample, secret: other }, headers, body))).toBe(false);
    const keys = [keyOf(scheme, other, settings, 'new'), keyOf(scheme, secret, settings, 'old')];
    const delivery = { header: (name: string) => headers[name], body: Buffer.from(body) };
    expect(SCHEMES[scheme].verify(delivery, { keys, settings })).toMatchObject({ keyId: 'old' });
    expect(SCHEMES[scheme].verify(delivery, { keys: [], settings })).toEqual({ unvouched: 'no-matching-secret' });
  });
});

describe('a signature made for a test delivery', () => {
  it('is accepted by the libraries of the senders', async () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const order = (scheme: SchemeName, secret: string) => ({
      key: keyOf(scheme, secret),
      body: Buffer.from(BODY),
      deliveryId: 'msg_1',
      timestamp,
    });
    const standard = SCHEMES['standard-webhooks'].sign(order('standard-webhooks', standardSecret), { settings: {} });
    expect(new Webhook(standardSecret).verify(BODY, standard ?? {})).toEqual(JSON.parse(BODY));
    const signed = SCHEMES.stripe.sign(order('stripe', textSecret), { settings: {} });
    expect(stripe.webhooks.constructEvent(BODY, signed?.['stripe-signature'] ?? '', textSecret)).toMatchObject({
      id: 'evt_1',
    });
    const github = SCHEMES.github.sign(order('github', textSecret), { settings: {} });
    expect(github).toEqual({ 'x-hub-signature-256': await signGithub(textSecret, BODY) });
  });

  it.each(samples)('is accepted by us: %s', (_what, sample) => {
    const { scheme, settings = {}, secret } = sample;
    const key = keyOf(scheme, secret, settings);
    const headers = SCHEMES[scheme].sign(
      { key, body: Buffer.from(BODY), deliveryId: 'd1', timestamp: NOW_S },
      { settings },
    );
    if (key.key.type === 'public') expect(headers).toBeUndefined();
    else expect(verify(sample, headers!, BODY)).toMatchObject({ keyId: 'k1' });
  });
});
