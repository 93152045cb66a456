import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import * as texts from './source-texts.ts';

export type Source = Schemas['ingestGatewayAdmin']['Source'];
/** A source, as it is read and cached. */
export const sourceQuery = ({ networkId, sourceId }: Pick<Source, 'networkId' | 'sourceId'>) =>
  api.queryOptions('get', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
    params: { path: { networkId, sourceId } },
  });

export type Preset = Schemas['ingestGatewayAdmin']['SourcePreset'];

const LABELS: Readonly<Record<Preset, string>> = {
  github: 'GitHub',
  stripe: 'Stripe',
  shopify: 'Shopify',
  slack: 'Slack',
  'standard-webhooks': texts.standardWebhooksSvixAndOthers,
  chargebee: 'Chargebee',
  clerk: 'Clerk',
  cursor: 'Cursor',
  deepgram: 'Deepgram',
  elevenlabs: 'ElevenLabs',
  gitlab: 'GitLab',
  grafana: 'Grafana',
  hookdeck: 'Hookdeck',
  openai: 'OpenAI',
  orb: 'Orb',
  paddle: 'Paddle',
  postmark: 'Postmark',
  replicate: 'Replicate',
  resend: 'Resend',
  sendgrid: 'SendGrid',
  supabase: 'Supabase',
  vercel: 'Vercel',
  webflow: 'Webflow',
  woocommerce: 'WooCommerce',
  hmac: texts.anotherSignature,
  token: texts.aTokenInAHeader,
};

export const presets = Object.entries(LABELS).map(([value, label]) => ({ value: value as Preset, label }));

/** What is entered as the secret. */
export function secretHint(preset: Preset, isPublicKey: boolean): string {
  if (preset === 'chargebee' || preset === 'postmark') return texts.userAndPasswordOfTheSender;
  return preset === 'sendgrid' || isPublicKey ? texts.thePublicKeyOfTheSender : texts.asTheSenderShowsIt;
}
