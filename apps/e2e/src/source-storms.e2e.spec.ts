import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem } from '@sealgate/testing';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { ledgerSize } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HeaderLines, HttpAnswer } from './harness/http-exchange.ts';
import { inParallel } from './harness/in-parallel.ts';
import { breakableServers, install, outOfReach, type Installation, type Servers } from './harness/installation.ts';
import { boundMs } from './harness/scale.ts';
import { judgeLog } from './harness/verifier.ts';
import { deliveredBy, githubSignature, githubSource, newSecret, newSource } from './harness/webhook-sender.ts';

const DELIVERIES = 2000;
const UNDER_WAY = 32;
const STORY_MS = 180_000;

describeWithRedis('Deliveries to sources, at two processes', () => {
  let servers: Servers;
  let setup: Installation;
  beforeAll(async () => {
    servers = await breakableServers();
    setup = await install({ ...servers, gateways: 2 });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await servers.stop();
  });

  const post = (path: string, headers: HeaderLines, body: string | Buffer, gateway = 0): Promise<HttpAnswer> =>
    setup.gateways[gateway % 2]!.public.send({ method: 'POST', path, headers, body });

  const json = { 'Content-Type': 'application/json' };

  it(
    'are written once each, sent three times concurrently; also after a loss of Redis, at the other process, and when sent anew',
    async () => {
      const { source, secret, channel } = await githubSource(setup, { limits: outOfReach });
      const bodyOf = (n: number) => JSON.stringify({ n, text: 'x'.repeat(n % 500) });
      const headersOf = (n: number, body: string) => ({
        ...json,
        'X-GitHub-Event': 'push',
        'X-GitHub-Delivery': `delivery-${n}`,
        'X-Hub-Signature-256': githubSignature(secret, body),
      });
      const send = (n: number, gateway: number) => {
        const body = bodyOf(n);
        return post(source.path, headersOf(n, body), body, gateway);
      };
      const answers = await inParallel(UNDER_WAY, DELIVERIES, (n) =>
        Promise.all([0, 1, 2].map((copy) => send(n, n + copy))),
      );
      for (const copies of answers) {
        expect(copies.map(({ status }) => status)).toEqual([200, 200, 200]);
        expect(new Set(copies.map(({ text }) => text)).size).toBe(1);
        expect(copies.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
      }
      expect(await ledgerSize(setup.admin, channel)).toBe(DELIVERIES);
      await servers.redis.stop();
      for (let n = 0; n < 100; n += 1) {
        const again = await send(n * 20, n);
        deliveredBy(again, true);
        expect(again.text).toBe(answers[n * 20]![0]!.text);
      }
      expect(await ledgerSize(setup.admin, channel)).toBe(DELIVERIES);
      const texts = answers.map(([first]) => first!.text);
      const { admin, folder, verifierKey } = setup;
      expect(await judgeLog({ admin, channel, folder, verifierKey, answers: texts, savedFolders: [] })).toBe(
        DELIVERIES,
      );
    },
    STORY_MS,
  );

  it('of Standard Webhooks, Stripe, Slack, Shopify, by HMAC and by token are accepted as their senders sign them', async () => {
    const networkId = await setup.newNetwork();
    const now = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ id: 'evt_1', type: 'a.type', event_id: 'Ev1', event: { type: 'app_mention' } });
    const standard = `whsec_${randomBytes(32).toString('base64')}`;
    const secret = newSecret();
    const hmac = (text: string) => createHmac('sha256', secret).update(text);
    const stripe = new Stripe('sk_test_none').webhooks.generateTestHeaderString({
      payload: body,
      secret,
      timestamp: now,
    });
    const signature = {
      header: 'X-Sig',
      algorithm: 'sha256',
      encoding: 'hex',
      signed: 'timestamp.body',
      timestampHeader: 'X-At',
    };
    const id = randomUUID();
    const senders: [object, HeaderLines, string][] = [
      [
        { scheme: 'standard-webhooks', secret: standard },
        {
          'webhook-id': id,
          'webhook-timestamp': String(now),
          'webhook-signature': new Webhook(standard).sign(id, new Date(now * 1000), body),
        },
        'a.type',
      ],
      [{ scheme: 'stripe', secret }, { 'Stripe-Signature': stripe }, 'a.type'],
      [
        { scheme: 'slack', secret },
        {
          'X-Slack-Request-Timestamp': String(now),
          'X-Slack-Signature': `v0=${hmac(`v0:${now}:${body}`).digest('hex')}`,
        },
        'app_mention',
      ],
      [
        { scheme: 'shopify', secret },
        {
          'X-Shopify-Webhook-Id': id,
          'X-Shopify-Topic': 'orders/paid',
          'X-Shopify-Hmac-Sha256': hmac(body).digest('base64'),
        },
        'orders/paid',
      ],
      [
        { scheme: 'hmac', secret, signature, type: 'ours' },
        { 'X-At': String(now), 'X-Sig': hmac(`${now}.${body}`).digest('hex') },
        'ours',
      ],
      [{ scheme: 'token', secret, token: { header: 'X-Gitlab-Token' } }, { 'X-Gitlab-Token': secret }, 'unknown'],
    ];
    for (const [members, headers, type] of senders) {
      const { path } = await newSource(setup.admin, networkId, members as { secret: string });
      const { records } = deliveredBy(await post(path, { ...json, ...headers }, body));
      deliveredBy(await post(path, { ...json, ...headers }, body, 1), true);
      const [record] = records;
      expect(await setup.admin.ask('GET', `/ledger/channels/${record!.channel}/records/${record!.id}`)).toMatchObject({
        type,
      });
      const [name] = Object.keys(headers).slice(-1);
      expectProblem(await post(path, { ...json, ...headers, [name!]: 'x' }, body), 'UNAUTHENTICATED');
    }
    expect(await ledgerSize(setup.admin, `${networkId}.main`)).toBe(senders.length);
  });

  it(
    'that are noise are refused without a 5xx, write nothing and delay no other sender',
    async () => {
      const noisy = await githubSource(setup);
      const other = await githubSource(setup);
      const noise = (bytes: number) =>
        randomBytes(bytes)
          .toString('latin1')
          .replaceAll(/[^\x21-\x7e]/g, '~');
      const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'image/png', noise(30)];
      const sent = inParallel(16, 600, async (n) => {
        const isSigned = n % 3 === 0;
        const body = n % 5 === 0 ? '['.repeat(n * 20) : randomBytes(n * 7).toString(n % 2 === 0 ? 'latin1' : 'base64');
        const bytes = Buffer.from(body, 'latin1');
        const signature = createHmac('sha256', noisy.secret).update(bytes).digest('hex');
        const headers = {
          'Content-Type': types[n % types.length]!,
          'X-GitHub-Event': noise(n % 300),
          'X-Hub-Signature-256': isSigned ? `sha256=${signature}` : noise(n % 90),
          [`X-${noise(8).replaceAll(/[^A-Za-z]/g, 'a')}`]: noise(200),
        };
        return post(noisy.source.path, headers, bytes, n);
      });
      const good = inParallel(4, 60, (n) => other.send({ body: `{"n":${n}}` }, n % 2));
      for (const { status } of await sent) expect([400, 401, 413, 415, 429]).toContain(status);
      for (const answer of await good) {
        deliveredBy(answer);
        expect(answer.durationMs).toBeLessThan(boundMs(2_000));
      }
      expect(await ledgerSize(setup.admin, noisy.channel)).toBe(0);
    },
    STORY_MS,
  );
});
