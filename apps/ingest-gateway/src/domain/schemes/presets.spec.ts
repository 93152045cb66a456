import { describe, expect, it } from '@jest/globals';
import type { GivenSettings, SourceSettings } from '../source.ts';
import { checkSettings, resolvePreset } from '../source-settings.ts';
import { PRESET_NAMES, type PresetName } from './presets.ts';
import { isVouched } from './scheme.ts';
import type { SchemeKey } from '../caller.ts';
import { SCHEMES, vouch } from './schemes.ts';

/** All signatures here were made with the commands of OpenSSL, over these bytes at this time. */
const NOW_S = 1_780_000_000;
const BODY = '{"id":"evt_1","type":"thing.made","event_id":"evt_1","größe":1}';
const SECRET = 'a-secret-of-somebody';
const URL = 'https://ingest.example.com/hooks/src_AAAAAAAAAAAAAAAAAAAAAA';

type Headers = Record<string, string>;

interface Sample {
  readonly preset: PresetName;
  readonly given?: GivenSettings;
  readonly secret?: string;
  readonly headers: Headers;
  readonly timestamp?: number;
  readonly deliveryId?: string;
}

const svix = (preset: PresetName, names = 'svix', secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'): Sample => ({
  preset,
  secret,
  headers: {
    [`${names}-id`]: 'msg_1',
    [`${names}-timestamp`]: String(NOW_S),
    [`${names}-signature`]: 'v1,d+CCEcbpY0iF+iPQxQNMeroYBo6skDYpCkZzUGYvuhY=',
  },
  timestamp: NOW_S,
  deliveryId: 'msg_1',
});

const SHA256_OF_BODY = 'b5018d21a05c3422b2af71f8b0221a3c4d0a04c1d5ea7456acc78bfe72cfb524';
const SHA256_OF_BODY_BASE64 = 'tQGNIaBcNCKyr3H4sCIaPE0KBMHV6nRWrMeL/nLPtSQ=';
const SHA256_WITH_DOT = 'a2b12cc16c22ac4e984338d727238fd149ba17953c4a2a72f1f96b758263e81f';
const SHA256_WITH_COLON = '557086d2443883080822efddebfb8af616fd9f7f34a45e3cc762a05b97ce076c';
const ED25519_PEM = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA/Y5kzO3mV1UHUIXRYcFeUM1Eh3aH3O1gpYfJjAkTXQE=
-----END PUBLIC KEY-----`;

const token = (preset: PresetName, header: string, value: string, secret = SECRET): Sample => ({
  preset,
  secret,
  headers: { [header]: value },
});

const samples: Readonly<Record<PresetName, Sample>> = {
  clerk: svix('clerk'),
  resend: svix('resend'),
  orb: svix('orb'),
  openai: svix('openai', 'webhook'),
  replicate: svix('replicate', 'webhook'),
  supabase: svix('supabase', 'webhook', 'v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
  'standard-webhooks': svix('standard-webhooks', 'webhook'),
  github: { preset: 'github', headers: { 'x-hub-signature-256': `sha256=${SHA256_OF_BODY}` } },
  stripe: {
    preset: 'stripe',
    headers: { 'stripe-signature': `t=${NOW_S},v1=${SHA256_WITH_DOT}` },
    timestamp: NOW_S,
  },
  shopify: { preset: 'shopify', headers: { 'x-shopify-hmac-sha256': SHA256_OF_BODY_BASE64 } },
  slack: {
    preset: 'slack',
    headers: {
      'x-slack-request-timestamp': String(NOW_S),
      'x-slack-signature': 'v0=36b8f4cb42c609e83998e4b353fb4f5780361201d88f3d9f7615924a8b4c5579',
    },
    timestamp: NOW_S,
  },
  // The template of HubSpot.
  hmac: {
    preset: 'hmac',
    given: {
      signature: {
        header: 'x-signature-v3',
        encoding: 'base64',
        timestampHeader: 'x-request-timestamp',
        timestampFormat: 'milliseconds',
        signed: '{method}{url}{body}{timestamp}',
      },
    },
    headers: {
      'x-request-timestamp': `${NOW_S}000`,
      'x-signature-v3': 'v41kwJcBCNsk97UQn5sE1TZ9xTqliWQ9FjD8++jwDiM=',
    },
    timestamp: NOW_S,
  },
  token: {
    ...token('token', 'x-token', `Bearer ${SECRET}`),
    given: { token: { header: 'x-token', prefix: 'Bearer ' } },
  },
  paddle: {
    preset: 'paddle',
    headers: { 'paddle-signature': `ts=${NOW_S};h1=${SHA256_WITH_COLON}` },
    timestamp: NOW_S,
  },
  elevenlabs: {
    preset: 'elevenlabs',
    headers: { 'elevenlabs-signature': `t=${NOW_S},v0=${SHA256_WITH_DOT}` },
    timestamp: NOW_S,
  },
  webflow: {
    preset: 'webflow',
    headers: {
      'x-webflow-timestamp': `${NOW_S}000`,
      'x-webflow-signature': '32d1a4e70f9054e65a393e43cb21a63aeea24245b4f51c73c4110a17b6370f0d',
    },
    timestamp: NOW_S,
  },
  grafana: { preset: 'grafana', headers: { 'x-grafana-alerting-signature': SHA256_OF_BODY } },
  gitlab: token('gitlab', 'x-gitlab-token', SECRET),
  sendgrid: {
    preset: 'sendgrid',
    secret:
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfsLaPCFCHxZEsxeuWT66iyB1Z18ur+yi1wrXI2DsExvhBy3WCwTi+6CIiVIHXPBcYtd3pHNHfGCQxyUIOOfFgg==',
    headers: {
      'x-twilio-email-event-webhook-timestamp': String(NOW_S),
      'x-twilio-email-event-webhook-signature':
        'MEYCIQCZxa87k76NM9uE14I1mj+so6JhLwi5OzdRxlK7cFzEAwIhAO6IT8NsC8iPzscsP7mmxGcs4TRJzNJIFUlE3k+cXCru',
    },
    timestamp: NOW_S,
  },
  vercel: { preset: 'vercel', headers: { 'x-vercel-signature': '9656990bb8a8363a4ee519cb865f9e78d296ede2' } },
  woocommerce: { preset: 'woocommerce', headers: { 'x-wc-webhook-signature': SHA256_OF_BODY_BASE64 } },
  hookdeck: { preset: 'hookdeck', headers: { 'x-hookdeck-signature': SHA256_OF_BODY_BASE64 } },
  chargebee: token(
    'chargebee',
    'authorization',
    'Basic aG9vazphLXBhc3N3b3JkLW9mLXNvbWVib2R5',
    'hook:a-password-of-somebody',
  ),
  postmark: token(
    'postmark',
    'authorization',
    'Basic aG9vazphLXBhc3N3b3JkLW9mLXNvbWVib2R5',
    'hook:a-password-of-somebody',
  ),
  deepgram: token('deepgram', 'dg-token', SECRET),
  cursor: { preset: 'cursor', headers: { 'x-webhook-signature': `sha256=${SHA256_OF_BODY}` } },
};

/** Senders without a preset, whose settings are written out. */
const ownForms: readonly (readonly [string, Sample])[] = [
  [
    'Grafana with a timestamp',
    {
      preset: 'grafana',
      given: { signature: { timestampHeader: 'x-grafana-time', signed: '{timestamp}:{body}' } },
      headers: { 'x-grafana-time': String(NOW_S), 'x-grafana-alerting-signature': SHA256_WITH_COLON },
      timestamp: NOW_S,
    },
  ],
  [
    'Ed25519 in hex, the key as PEM (Discord)',
    {
      preset: 'hmac',
      given: {
        signature: {
          header: 'x-signature-ed25519',
          algorithm: 'ed25519',
          timestampHeader: 'x-signature-timestamp',
          signed: '{timestamp}{body}',
        },
      },
      secret: ED25519_PEM,
      headers: {
        'x-signature-timestamp': String(NOW_S),
        'x-signature-ed25519':
          '0030096085877787b8cd7587bcf767660d9e6152e6387357e363c0623fb0eeaefdd458d7fc94182638a2273f4adc0011aeca115e51f9a0adf3903c7cd048bf0f',
      },
      timestamp: NOW_S,
    },
  ],
  [
    'an id and a time of RFC 3339 (Twitch)',
    {
      preset: 'hmac',
      given: {
        deliveryIdFrom: 'header:x-message-id',
        signature: {
          header: 'x-message-signature',
          prefix: 'sha256=',
          timestampHeader: 'x-message-timestamp',
          timestampFormat: 'rfc3339',
          signed: '{id}{timestamp}{body}',
        },
      },
      headers: {
        'x-message-id': 'd-1',
        'x-message-timestamp': '2026-05-28T20:26:40.123456789Z',
        'x-message-signature': 'sha256=fc9b4491729cf8d9cae66f1a549a75a5d525947db0f8ed22325d6a13dd71fb2c',
      },
      timestamp: NOW_S,
      deliveryId: 'd-1',
    },
  ],
  [
    'a secret in hex, SHA-512',
    {
      preset: 'hmac',
      given: { signature: { header: 'x-sig', algorithm: 'sha512', secretEncoding: 'hex' } },
      secret: '000102030405060708090A0b0c0d0e0f',
      headers: {
        'x-sig':
          '9141bd8a125978911f92d6e5f2be39b9043271f1f2cd056da8c261033527880dd8ee57873b76bb2f2d0d151f590a09433fd8636500546784a513829d12c72977',
      },
    },
  ],
];

function sourceOf({ preset, given = {}, secret = SECRET }: Sample, others: readonly string[] = []) {
  const { scheme, settings } = resolvePreset({ preset }, given);
  checkSettings(scheme, settings, { hasPublicUrl: true });
  return {
    scheme,
    settings,
    url: URL,
    keys: [...others, secret].map((value, at) => keyOf(scheme, settings, value, at)),
  };
}

function keyOf(scheme: keyof typeof SCHEMES, settings: SourceSettings, value: string, at: number): SchemeKey {
  const key = SCHEMES[scheme].readKey(value, settings);
  if (key === undefined) throw new Error(`${value} is no secret of ${scheme}.`);
  return { id: `k${at}`, key };
}

function* flipped(text: string): Generator<string> {
  const bytes = Buffer.from(text, 'latin1');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3]! ^= 1 << (bit & 7);
    yield copy.toString('latin1');
  }
}

const all = [...PRESET_NAMES.map((name) => [name, samples[name]] as const), ...ownForms];

describe.each(all)('a source of the preset or form %s', (_name, sample) => {
  const { headers, timestamp, deliveryId } = sample;
  const source = sourceOf(sample);
  const judge = (given: Headers, body: string | Buffer = BODY, atS = NOW_S) =>
    vouch(source, { header: (name) => given[name], body: Buffer.from(body) }, atS * 1000);

  it('takes what its sender signs', () => {
    const verdict = judge(headers);
    const signed = {
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(deliveryId === undefined ? {} : { deliveryId }),
    };
    expect(verdict).toMatchObject({ keyId: 'k0', ...signed });
    expect('timestamp' in verdict).toBe(timestamp !== undefined);
  });

  it('refuses any bit of a header flipped, and names a header that is missing', () => {
    for (const [name, value] of Object.entries(headers)) {
      const accepted = [...flipped(value)].filter((other) => isVouched(judge({ ...headers, [name]: other })));
      // Only the name of an authentication scheme, which may be in any case.
      const isOtherCase = (other: string) => name === 'authorization' && other.toLowerCase() === value.toLowerCase();
      expect(accepted.filter((other) => !isOtherCase(other) || other.slice(6) !== value.slice(6))).toEqual([]);
      const { [name]: _, ...others } = headers;
      if (!/^(?:webhook|svix)-signature$/.test(name))
        expect(judge(others)).toEqual({ unvouched: 'header-missing', header: name });
      expect(judge({ ...headers, [name]: 'x'.repeat(2049) })).toEqual({ unvouched: 'header-malformed', header: name });
    }
  });

  (source.scheme === 'token' ? it.skip : it)('refuses any bit of the body flipped', () => {
    const bytes = Buffer.from(BODY).toString('latin1');
    const accepted = [...flipped(bytes)].filter((other) => isVouched(judge(headers, Buffer.from(other, 'latin1'))));
    expect(accepted).toEqual([]);
    expect(judge(headers, '')).toEqual({ unvouched: 'no-matching-secret' });
  });

  (timestamp === undefined ? it.skip : it)('refuses what is old or comes from the future', () => {
    expect(judge(headers, BODY, NOW_S + 299)).toMatchObject({ keyId: 'k0' });
    expect(judge(headers, BODY, NOW_S - 299)).toMatchObject({ keyId: 'k0' });
    expect(judge(headers, BODY, NOW_S + 400)).toEqual({ unvouched: 'clock-skew', seconds: -400 });
    expect(judge(headers, BODY, NOW_S - 400)).toEqual({ unvouched: 'clock-skew', seconds: 400 });
  });

  it('takes what is signed with either secret of a rotation', () => {
    const other = {
      'standard-webhooks': `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      hmac: '0f0e0d0c0b0a09080706050403020100',
    }[source.scheme as string];
    if (/^ed|^ec/.test(source.settings.signature?.algorithm ?? '')) return;
    const both = sourceOf(sample, [other ?? 'another-secret:than-that']);
    const delivery = { header: (name: string) => headers[name], body: Buffer.from(BODY) };
    expect(vouch(both, delivery, NOW_S * 1000)).toMatchObject({ keyId: 'k1' });
  });

  it('takes the test delivery that is signed here, unless only the sender can sign', () => {
    const order = { key: source.keys[0]!, body: Buffer.from(BODY), deliveryId: 'd-2', timestamp: NOW_S };
    const signed = SCHEMES[source.scheme].sign(order, source);
    if (source.keys[0]!.key.type === 'public') expect(signed).toBeUndefined();
    else expect(judge(signed ?? {})).toMatchObject({ keyId: 'k0' });
  });
});

describe('a signature over the URL', () => {
  it('is a matter of the operator where PUBLIC_URL is not set, so the sender is to retry', () => {
    const source = { ...sourceOf(samples.hmac), url: undefined };
    const { headers } = samples.hmac;
    const delivery = { header: (name: string) => headers[name], body: Buffer.from(BODY) };
    expect(() => vouch(source, delivery, NOW_S * 1000)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  });
});
