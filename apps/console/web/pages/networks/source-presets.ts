import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';

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
  'standard-webhooks': 'Standard Webhooks (Svix and others)',
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
  hmac: 'Another signature',
  token: 'A token in a header',
};

export const presets = Object.entries(LABELS).map(([value, label]) => ({ value: value as Preset, label }));

/** What is entered as the secret. */
export function secretHint(preset: Preset, isPublicKey: boolean): string {
  if (preset === 'chargebee' || preset === 'postmark') return 'User and password of the sender, as user:password.';
  return preset === 'sendgrid' || isPublicKey ? 'The public key of the sender.' : 'As the sender shows it.';
}
