import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { sign } from '@octokit/webhooks-methods';
import type { AdminClient, Members } from './admin-client.ts';
import type { HttpClient } from './http-client.ts';
import type { HeaderLines, HttpAnswer } from './http-exchange.ts';
import type { Installation } from './installation.ts';

/** A delivery in the form of GitHub's. */
interface GithubDelivery {
  readonly secret: string;
  readonly body?: string;
  readonly deliveryId?: string;
  readonly event?: string;
  /** Replaces or adds headers. */
  readonly headers?: HeaderLines;
}

/** Signed by GitHub's own library. */
export async function githubHeaders({
  secret,
  body = '{}',
  deliveryId = randomUUID(),
  event = 'push',
}: GithubDelivery) {
  return {
    'Content-Type': 'application/json',
    'X-GitHub-Event': event,
    'X-GitHub-Delivery': deliveryId,
    'X-Hub-Signature-256': await sign(secret, body),
  };
}

/** Posts a delivery as GitHub does. */
export async function sendGithub(http: HttpClient, path: string, delivery: GithubDelivery): Promise<HttpAnswer> {
  const { body = '{}', headers = {} } = delivery;
  return http.send({ method: 'POST', path, headers: { ...(await githubHeaders(delivery)), ...headers }, body });
}

/** The same signature with less overhead than the library's, for loads. */
export function githubSignature(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

export interface MadeSource {
  readonly sourceId: string;
  readonly path: string;
  /** Null unless the gateway has PUBLIC_URL. */
  readonly url: string | null;
  /** The path in the admin API, after /admin/v1. */
  readonly adminPath: string;
}

/** Creates a GitHub source with one secret; `members` replace or add. */
export async function newSource(
  admin: Pick<AdminClient, 'ask'>,
  networkId: string,
  { secret, ...members }: Members & { readonly secret: string },
): Promise<MadeSource> {
  const secrets = [{ id: 'k1', value: secret }];
  const body = { name: 'A source', scheme: 'github', secrets, ...members };
  const { sourceId, path, url } = await admin.ask('POST', `/networks/${networkId}/sources`, body);
  return {
    sourceId: String(sourceId),
    path: String(path),
    url: url === null ? null : String(url),
    adminPath: `/networks/${networkId}/sources/${String(sourceId)}`,
  };
}

export const newSecret = (): string => randomBytes(24).toString('base64url');

export type GithubSource = Awaited<ReturnType<typeof githubSource>>;

/** A network with one GitHub source, and its sender. */
export async function githubSource(setup: Installation, members: Members = {}) {
  const networkId = await setup.newNetwork({ channels: ['main', 'other'] });
  const secret = newSecret();
  const source = await newSource(setup.admin, networkId, { secret, ...members });
  const send = (delivery: Partial<GithubDelivery>, gateway = 0) =>
    sendGithub(setup.gateways[gateway]!.public, source.path, { secret, ...delivery });
  return { networkId, secret, source, send, channel: `${networkId}.main` };
}

interface Delivered {
  readonly eventId: string;
  readonly records: readonly { id: string; channel: string; transactionId: string }[];
}

/** The answer to the sender; throws for a refusal, and for an unexpected replay. */
export function deliveredBy({ status, headers, text, body }: HttpAnswer, replayed = false): Delivered {
  if (status !== 200 || (headers['idempotent-replayed'] === 'true') !== replayed)
    throw new Error(`${status} ${String(headers['idempotent-replayed'])}: ${text}`);
  return body as Delivered;
}

/** The outcomes of the last deliveries to a source, from the admin API. */
export async function deliveriesOf(admin: AdminClient, { adminPath }: MadeSource): Promise<Members[]> {
  return (await admin.ask('GET', `${adminPath}/deliveries`))['items'] as Members[];
}
