import { createHmac } from 'node:crypto';
import { type AdminClient, textOf } from '../start/admin-client.ts';
import type { Secrets } from '../start/secrets.ts';
import { UserError } from '../start/user-error.ts';
import { pick, postPatiently, spread } from './post-patiently.ts';

interface DemoSource {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly networkId: string;
}

const NAME = 'Balticline tracking';
const SECRET = 'demo.sourceSecret';
const SOURCE = 'demo.sourceId';
const SENT = 'demo.sourceSent';

/**
 * A source whose sender does what senders do: most deliveries are accepted, some come twice, and some are refused. If
 * interrupted, the next start sends all again: what was accepted is a duplicate then.
 */
export async function fillSource(demo: DemoSource): Promise<void> {
  const { url, secrets } = demo;
  const sourceId = await demoSource(demo);
  if (secrets.recall(SENT) === sourceId) return;
  for (const { status, ...delivery } of demoDeliveries()) {
    const headers = signed(delivery, keyOf(secrets.secret(delivery.forged ? `${SECRET}Forged` : SECRET)));
    const posted = await postPatiently(`${url}/hooks/${sourceId}`, { headers, body: delivery.body });
    if (posted.status !== status)
      throw new UserError(`The demo delivery ${delivery.id} was answered ${posted.status}, not ${status}.`);
  }
  secrets.remember(SENT, sourceId);
}

/** The id of the source of an earlier start, unless it was deleted. */
async function demoSource({ admin, secrets, networkId }: DemoSource): Promise<string> {
  const sources = `/networks/${networkId}/sources`;
  const known = secrets.recall(SOURCE);
  if (known !== undefined && (await admin.get(`${sources}/${known}`)).status === 200) return known;
  const value = `whsec_${keyOf(secrets.secret(SECRET)).toString('base64')}`;
  const order = { name: NAME, scheme: 'standard-webhooks', secrets: [{ id: 'k1', value }], keepRefusedHours: 72 };
  const made = textOf(await admin.post(sources, order), 'sourceId');
  secrets.remember(SOURCE, made);
  return made;
}

const keyOf = (secret: string): Buffer => Buffer.from(secret, 'base64url');

interface Delivery {
  readonly id: string;
  readonly body: string;
  /** Whether somebody else signs it. */
  readonly forged: boolean;
  /** Of the sender's clock. */
  readonly lateSeconds: number;
}

/** Headers of Standard Webhooks. */
function signed({ id, body, lateSeconds }: Delivery, key: Buffer): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000) - lateSeconds);
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

const STEPS = ['departed', 'position', 'position', 'delayed', 'arrived'] as const;
const DELIVERIES = 24;

/** Deliveries in the order of sending, each with the status of its answer. */
export function demoDeliveries(): (Delivery & { readonly status: number })[] {
  const sent = (number: number) => ({
    id: `msg_${String(number).padStart(6, '0')}`,
    body: JSON.stringify({
      type: `demo.${pick(STEPS, number)}`,
      data: { vessel: `BL-${10 + spread(number, 6)}`, knots: spread(number * 3, 190) / 10 },
    }),
    forged: false,
    lateSeconds: 0,
    status: 200,
  });
  const accepted = Array.from({ length: DELIVERIES }, (_, index) => sent(index + 1));
  const duplicates = [4, 9, 16].map(sent);
  const refused = { ...sent(DELIVERIES + 1), status: 401 };
  return [
    ...accepted,
    ...duplicates,
    { ...refused, forged: true },
    { ...refused, id: 'msg_000026', forged: true },
    { ...refused, id: 'msg_000027', lateSeconds: 5400 },
    { ...refused, id: 'msg_000028', body: '{"type":"demo.position","data":{"vessel":', status: 400 },
  ];
}
