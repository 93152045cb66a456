import { createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { Webhook } from 'standardwebhooks';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import type { HeaderLines, HttpAnswer } from './harness/http-exchange.ts';
import { deliveredBy, newSecret, newSource, type MadeSource } from './harness/webhook-sender.ts';

const PUBLIC_URL = 'https://ingest.example.com/a';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await contractSetup({ env: { PUBLIC_URL } });
}, setupTimeoutMs);
afterAll(() => setup.stop());

const secret = newSecret();
const standard = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const body = JSON.stringify({ id: 'evt_1', type: 'a.type', event_id: 'e-1', event_type: 'b.type', triggerType: 'c' });
const now = Math.floor(Date.now() / 1000);
const hmac = (text: string, algorithm = 'sha256') => createHmac(algorithm, secret).update(text);
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const verificationKey = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

function svix(prefix: string): HeaderLines {
  const id = randomUUID();
  const signature = new Webhook(standard).sign(id, new Date(now * 1000), body);
  return { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: String(now), [`${prefix}-signature`]: signature };
}

/** Preset, secret, headers of a delivery, the one that authenticates it, and the type of its record. */
const senders: readonly (readonly [string, string, HeaderLines, string, string])[] = [
  ['clerk', standard, svix('svix'), 'svix-signature', 'a.type'],
  ['resend', standard, svix('svix'), 'svix-signature', 'a.type'],
  ['openai', standard, svix('webhook'), 'webhook-signature', 'a.type'],
  ['supabase', `v1,${standard}`, svix('webhook'), 'webhook-signature', 'a.type'],
  [
    'paddle',
    secret,
    { 'Paddle-Signature': `ts=${now};h1=${hmac(`${now}:${body}`).digest('hex')}` },
    'Paddle-Signature',
    'b.type',
  ],
  [
    'elevenlabs',
    secret,
    { 'ElevenLabs-Signature': `t=${now},v0=${hmac(`${now}.${body}`).digest('hex')}` },
    'ElevenLabs-Signature',
    'a.type',
  ],
  [
    'webflow',
    secret,
    { 'x-webflow-timestamp': `${now}123`, 'x-webflow-signature': hmac(`${now}123:${body}`).digest('hex') },
    'x-webflow-signature',
    'c',
  ],
  [
    'grafana',
    secret,
    { 'X-Grafana-Alerting-Signature': hmac(body).digest('hex') },
    'X-Grafana-Alerting-Signature',
    'unknown',
  ],
  ['gitlab', secret, { 'X-Gitlab-Token': secret, 'X-Gitlab-Event': 'Push Hook' }, 'X-Gitlab-Token', 'Push Hook'],
  [
    'sendgrid',
    verificationKey,
    {
      'X-Twilio-Email-Event-Webhook-Timestamp': String(now),
      'X-Twilio-Email-Event-Webhook-Signature': sign('sha256', Buffer.from(`${now}${body}`), privateKey).toString(
        'base64',
      ),
    },
    'X-Twilio-Email-Event-Webhook-Signature',
    'unknown',
  ],
  ['vercel', secret, { 'x-vercel-signature': hmac(body, 'sha1').digest('hex') }, 'x-vercel-signature', 'a.type'],
  [
    'woocommerce',
    secret,
    { 'X-WC-Webhook-Signature': hmac(body).digest('base64'), 'X-WC-Webhook-Topic': 'order.created' },
    'X-WC-Webhook-Signature',
    'order.created',
  ],
  ['hookdeck', secret, { 'x-hookdeck-signature': hmac(body).digest('base64') }, 'x-hookdeck-signature', 'unknown'],
  [
    'chargebee',
    `hook:${secret}`,
    { Authorization: `Basic ${Buffer.from(`hook:${secret}`).toString('base64')}` },
    'Authorization',
    'b.type',
  ],
  ['deepgram', secret, { 'dg-token': secret }, 'dg-token', 'unknown'],
  [
    'cursor',
    secret,
    { 'X-Webhook-Signature': `sha256=${hmac(body).digest('hex')}`, 'X-Webhook-Event': 'statusChange' },
    'X-Webhook-Signature',
    'statusChange',
  ],
];

const post = (source: MadeSource, headers: HeaderLines, text = body): Promise<HttpAnswer> =>
  setup.gateway.public.send({
    method: 'POST',
    path: source.path,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: text,
  });

async function typeOf(answer: HttpAnswer): Promise<unknown> {
  const [record] = deliveredBy(answer).records;
  const kept = await setup.admin.ask('GET', `/ledger/channels/${record!.channel}/records/${record!.id}`);
  return kept['type'];
}

describe('a source of a preset', () => {
  it.each(senders)(
    '%s takes what its sender sends, once, and nothing else',
    async (preset, value, headers, name, type) => {
      const networkId = await setup.newNetwork();
      const source = await newSource(setup.admin, networkId, { scheme: undefined, preset, secret: value });
      const answer = await post(source, headers);
      expect(await typeOf(answer)).toBe(type);
      expect((await post(source, headers)).headers['idempotent-replayed']).toBe('true');
      const right = String(headers[name]);
      const flipped = right.slice(0, -2) + (right.at(-2) === 'A' ? 'B' : 'A') + right.at(-1);
      const refused = [
        await post(source, { ...headers, [name]: flipped }),
        await post(source, { ...headers, [name]: [] }),
        // A list may be sent as two headers. Two Authorization headers are 401 on every path.
        ...(/[,;]/.test(right) || name === 'Authorization'
          ? []
          : [await post(source, { ...headers, [name]: [right, right] })]),
      ];
      for (const one of refused) expectProblem(one, 'UNAUTHENTICATED');
      const bodies = refused.map((one) => JSON.stringify({ ...(one.body as object), instance: '' }));
      expect(new Set(bodies).size).toBe(1);
      expect(new Set(refused.map((one) => one.headers['www-authenticate'])).size).toBe(1);
    },
  );
});

describe('a signature over method and address', () => {
  it('is over PUBLIC_URL and the path, whatever the Host header says', async () => {
    const networkId = await setup.newNetwork();
    const signature = { header: 'X-Sig', encoding: 'base64', signed: '{method}{url}{body}' };
    const source = await newSource(setup.admin, networkId, { scheme: 'hmac', secret, signature });
    const signed = (url: string) => ({ 'X-Sig': hmac(`POST${url}${source.path}${body}`).digest('base64') });
    expectProblem(await post(source, signed('https://evil.example.com')), 'UNAUTHENTICATED');
    const spoofed = { Host: 'evil.example.com', 'X-Forwarded-Host': 'evil.example.com' };
    expectProblem(await post(source, { ...spoofed, ...signed('https://evil.example.com') }), 'UNAUTHENTICATED');
    deliveredBy(await post(source, { ...spoofed, ...signed(PUBLIC_URL) }));
    expect(source.url).toBe(PUBLIC_URL + source.path);
  });
});

describe('a secret', () => {
  it('with white space at its ends is refused in POST and PATCH, and its value is in no answer', async () => {
    const networkId = await setup.newNetwork();
    const path = `/networks/${networkId}/sources`;
    const members = { name: 'A', preset: 'clerk' };
    const bad = await setup.admin.send('POST', path, { ...members, secrets: [{ id: 'k1', value: `${standard} ` }] });
    expectProblem(bad, 'INVALID_REQUEST');
    expect(bad.body).toMatchObject({
      errors: [{ pointer: '/secrets/0/value', detail: expect.stringContaining('white space') }],
    });
    expect(bad.text).not.toContain(standard);
    const source = await newSource(setup.admin, networkId, { scheme: undefined, preset: 'clerk', secret: standard });
    const secrets = [{ id: 'k1' }, { id: 'k2', value: `\n${standard}` }];
    expectProblem(await setup.admin.send('PATCH', source.adminPath, { secrets }), 'INVALID_REQUEST');
  });

  it('that the sender sends in a header is in no log', () => {
    const log = setup.gateways.map((one) => one.logText()).join('\n');
    expect(log.includes('/hooks/{sourceId}')).toBe(true);
    for (const text of [secret, Buffer.from(`hook:${secret}`).toString('base64').slice(0, 20)])
      expect(log.includes(text)).toBe(false);
  });
});

describe('what senders send', () => {
  it('is read as JSON under other media types, without an encoding, and as a CloudEvent', async () => {
    const networkId = await setup.newNetwork();
    const source = await newSource(setup.admin, networkId, {
      scheme: 'token',
      secret,
      token: { header: 'X-Token' },
      typeFrom: '/kind',
    });
    const stripped = JSON.stringify({ kind: 'seen', password: 'geheim' });
    const types = [
      'text/json',
      'text/plain; charset=utf8',
      'application/json; charset=UTF8',
      'application/x-www-form-urlencoded',
    ];
    for (const [at, type] of types.entries()) {
      const isForm = type.endsWith('urlencoded');
      const text = isForm ? `kind=seen&payload=${encodeURIComponent(stripped)}` : `${stripped}${' '.repeat(at)}`;
      const answer = await post(
        source,
        { 'Content-Type': type, 'Content-Encoding': 'identity', 'X-Token': secret },
        text,
      );
      const [record] = deliveredBy(answer).records;
      const kept = await setup.admin.ask('GET', `/ledger/channels/${record!.channel}/records/${record!.id}`);
      expect(kept).toMatchObject({ type: 'seen', data: isForm ? { payload: { kind: 'seen' } } : { kind: 'seen' } });
      expect(JSON.stringify(kept)).not.toContain('geheim');
    }
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Token': secret };
    expectProblem(await post(source, form, 'kind=%FF'), 'INVALID_JSON');
    const event = {
      'X-Token': secret,
      'ce-id': 'E-1',
      'ce-type': 'com.example',
      'ce-source': '/x',
      'ce-specversion': '1.0',
    };
    await setup.admin.ask('PATCH', source.adminPath, { typeFrom: null });
    expect(await typeOf(await post(source, event, '{"n":1}'))).toBe('com.example');
    expect((await post(source, event, '{"n":1}')).headers['idempotent-replayed']).toBe('true');
  });
});
