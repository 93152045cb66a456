import { SCHEME_NAMES, type SchemeName, type SignatureForm, type SourceSettings } from '../source.ts';

/** The scheme and settings of a sender. They are copied into a source when it is created, and can be changed there. */
interface Preset {
  readonly scheme: SchemeName;
  readonly settings: SourceSettings;
}

const hmac = (
  signature: Pick<SignatureForm, 'header'> & Partial<SignatureForm>,
  rest: Pick<SourceSettings, 'deliveryIdFrom' | 'typeFrom'> = {},
): Preset => ({
  scheme: 'hmac',
  settings: {
    ...rest,
    signature: { algorithm: 'sha256', encoding: 'hex', prefix: '', signed: '{body}', ...signature },
  },
});

const standard: Preset = { scheme: 'standard-webhooks', settings: {} };

const basic = (rest: Pick<SourceSettings, 'deliveryIdFrom' | 'typeFrom'>): Preset => ({
  scheme: 'token',
  settings: { ...rest, token: { header: 'authorization', prefix: 'Basic ', encoding: 'base64' } },
});

const SENDERS = {
  clerk: standard,
  resend: standard,
  orb: standard,
  openai: standard,
  replicate: standard,
  supabase: standard,
  paddle: hmac(
    {
      header: 'paddle-signature',
      signatureMember: 'h1',
      timestampMember: 'ts',
      separator: ';',
      signed: '{timestamp}:{body}',
    },
    { deliveryIdFrom: '/event_id', typeFrom: '/event_type' },
  ),
  elevenlabs: hmac(
    { header: 'elevenlabs-signature', signatureMember: 'v0', timestampMember: 't', signed: '{timestamp}.{body}' },
    { typeFrom: '/type' },
  ),
  webflow: hmac(
    {
      header: 'x-webflow-signature',
      timestampHeader: 'x-webflow-timestamp',
      timestampFormat: 'milliseconds',
      signed: '{timestamp}:{body}',
    },
    { typeFrom: '/triggerType' },
  ),
  grafana: hmac({ header: 'x-grafana-alerting-signature' }, { typeFrom: '/status' }),
  gitlab: {
    scheme: 'token',
    settings: {
      token: { header: 'x-gitlab-token', prefix: '' },
      deliveryIdFrom: 'header:x-gitlab-event-uuid',
      typeFrom: 'header:x-gitlab-event',
    },
  },
  // The body is a list of events.
  sendgrid: hmac({
    header: 'x-twilio-email-event-webhook-signature',
    timestampHeader: 'x-twilio-email-event-webhook-timestamp',
    algorithm: 'ecdsa-p256',
    encoding: 'base64',
    signed: '{timestamp}{body}',
  }),
  vercel: hmac({ header: 'x-vercel-signature', algorithm: 'sha1' }, { deliveryIdFrom: '/id', typeFrom: '/type' }),
  woocommerce: hmac(
    { header: 'x-wc-webhook-signature', encoding: 'base64' },
    { deliveryIdFrom: 'header:x-wc-webhook-delivery-id', typeFrom: 'header:x-wc-webhook-topic' },
  ),
  hookdeck: hmac(
    { header: 'x-hookdeck-signature', encoding: 'base64' },
    { deliveryIdFrom: 'header:x-hookdeck-eventid' },
  ),
  chargebee: basic({ deliveryIdFrom: '/id', typeFrom: '/event_type' }),
  // One message has several events, which have no id of their own.
  postmark: basic({ typeFrom: '/RecordType' }),
  deepgram: { scheme: 'token', settings: { token: { header: 'dg-token', prefix: '' } } },
  cursor: hmac(
    { header: 'x-webhook-signature', prefix: 'sha256=' },
    { deliveryIdFrom: 'header:x-webhook-id', typeFrom: 'header:x-webhook-event' },
  ),
} satisfies Record<string, Preset>;

export type PresetName = SchemeName | keyof typeof SENDERS;

/** The schemes are presets as well. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  ...(Object.fromEntries(SCHEME_NAMES.map((scheme) => [scheme, { scheme, settings: {} }])) as Record<
    SchemeName,
    Preset
  >),
  ...SENDERS,
};

export const PRESET_NAMES = Object.keys(PRESETS) as readonly PresetName[];
