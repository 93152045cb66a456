import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { sign } from '@octokit/webhooks-methods';
import { until } from '@sealgate/testing';
import { askedBy } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

export interface StorySource {
  /** At the gateway, for deliveries. */
  readonly path: string;
  /** Below `/admin/v1`. */
  readonly admin: string;
  /** Of its deliveries, in the console. */
  readonly page: string;
}

export type RefusedRow = Readonly<Record<string, unknown>> & { readonly refusedId: string };

/** A network with sources of webhooks, made without the pages, and deliveries signed by GitHub's library. */
export function sourcesOf(stack: () => ConsoleStack, networkId: string) {
  const gateway = () => stack().dev.surfaces['ingest-gateway']!;
  const admin = (path: string, init: RequestInit = {}) =>
    askedBy(stack().dev.adminToken, `${gateway().adminUrl}/admin/v1${path}`, init);

  async function deliver(
    path: string,
    secret: string,
    { event = 'push', deliveryId = randomUUID(), body = JSON.stringify({ ref: 'refs/heads/main' }) } = {},
  ): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': deliveryId,
      'x-hub-signature-256': await sign(secret, body),
    };
    const signal = AbortSignal.timeout(20_000);
    return fetch(`${gateway().url}${path}`, { method: 'POST', headers, body, signal });
  }

  async function newSource(members: object): Promise<StorySource> {
    await admin('/networks', { method: 'POST', body: JSON.stringify({ networkId }) }); // It may exist.
    const secrets = [{ id: 'k1', value: SECRETS.old }];
    const body = JSON.stringify({ scheme: 'github', secrets, ...members });
    const made = await admin(`/networks/${networkId}/sources`, { method: 'POST', body });
    expect(made.status).toBe(201);
    const { sourceId, path } = made.json as { sourceId: string; path: string };
    const page = `/networks/${networkId}/sources/${sourceId}`;
    return { path, admin: page, page: `${page}/deliveries` };
  }

  /** They are written once a second. */
  async function refusedOf(source: Pick<StorySource, 'admin'>, count = 1): Promise<RefusedRow[]> {
    const rows = async () => ((await admin(`${source.admin}/refused`)).json as { items: RefusedRow[] }).items;
    await until(async () => (await rows()).length >= count, { timeoutMs: 60_000 });
    return rows();
  }

  return { gateway, admin, deliver, newSource, refusedOf };
}

/** Signing secrets: that of a new source, and another. */
export const SECRETS = { old: 'the-secret-of-before-at-github', new: 'the-secret-from-now-on-at-github' };
