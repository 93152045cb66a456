import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { judgeLog } from './harness/verifier.ts';
import {
  deliveredBy,
  deliveriesOf,
  githubSignature,
  githubSource,
  newSecret,
  newSource,
  sendGithub,
  type GithubSource,
} from './harness/webhook-sender.ts';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await sharedSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

const newGithub = (members: Record<string, unknown> = {}) => githubSource(setup, members);

const statusesOf = (answers: readonly HttpAnswer[]) => answers.map(({ status }) => status);

describe('a delivery of GitHub, signed by its library', () => {
  it('is one record with a proof, however often and wherever it is sent', async () => {
    const { networkId, source, send, channel } = await newGithub();
    const body = JSON.stringify({ id: 7, action: 'opened', data: null, password: 'geheim' });
    const delivery = { body, deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958', event: 'pull_request' };
    const first = await send(delivery);
    const { records } = deliveredBy(first);
    for (const gateway of [0, 1]) {
      const again = await send(delivery, gateway);
      expect(deliveredBy(again, true)).toEqual(first.body);
      expect(again.text).toBe(first.text);
    }
    expect(await ledgerSize(setup.admin, channel)).toBe(1);
    const { admin, folder, verifierKey } = setup;
    const judged = await judgeLog({ admin, channel, folder, verifierKey, answers: [first.text], savedFolders: [] });
    expect(judged).toBe(1);
    const kept = await admin.ask('GET', `/ledger/channels/${channel}/records/${records[0]!.id}`);
    expect(kept).toMatchObject({
      type: 'pull_request',
      owner: null,
      data: { id: 7, action: 'opened', data: null },
      extra: {
        source: source.sourceId,
        scheme: 'github',
        deliveryId: delivery.deliveryId,
        keyId: 'k1',
        vouchedBy: 'shared-secret',
        bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    expect(records[0]!.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/);
    const { items } = await admin.ask('GET', `/events?networkId=${networkId}`);
    expect(items).toMatchObject([
      { kind: 'write', status: 'committed', keyId: source.sourceId, types: ['pull_request'] },
    ]);
  });

  it('is refused with one body for every fault of its signature, and writes nothing', async () => {
    const { send, secret, channel } = await newGithub();
    const refused = await Promise.all([
      send({ secret: newSecret() }),
      send({ headers: { 'X-Hub-Signature-256': '' } }),
      send({ headers: { 'X-Hub-Signature-256': githubSignature(secret, '{ }') } }),
      send({ headers: { 'X-Hub-Signature-256': [githubSignature(secret, '{}'), githubSignature(secret, '{}')] } }),
      // Its media type and body, which would be refused as well, are not checked.
      send({ secret: newSecret(), body: '{', headers: { 'Content-Type': 'image/png' } }),
    ]);
    for (const answer of refused) expectProblem(answer, 'UNAUTHENTICATED');
    const bodies = refused.map(({ body }) => ({ ...(body as object), instance: '' }));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(await ledgerSize(setup.admin, channel)).toBe(0);
  });

  it('with a valid signature still needs a valid media type, JSON, type and channels', async () => {
    const { send } = await newGithub({ allowedTypes: ['push'], idFrom: '/n' });
    expectProblem(await send({ headers: { 'Content-Type': 'image/png' } }), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await send({ headers: { 'Content-Encoding': 'gzip' } }), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await send({ body: '{"a":1' }), 'INVALID_JSON');
    // JSON that is not strict is taken as text, so it fails here for the same reason as strict JSON.
    expectProblem(await send({ body: '{"a":1,"a":2}' }), 'INVALID_REQUEST');
    expectProblem(await send({ body: '{}' }), 'INVALID_REQUEST');
    expectProblem(await send({ body: '{"n":1}', event: 'star' }), 'ASSET_TYPE_NOT_ALLOWED');
    expectProblem(await send({ body: '{"n":1}', headers: { 'X-GitHub-Delivery': [] } }), 'INVALID_REQUEST');
    const { records } = deliveredBy(await send({ body: '{"n":1}' }));
    expect(records).toMatchObject([{ id: '1' }]);
  });

  it('may be a form, a large body, and for several channels', async () => {
    const { send, networkId } = await newGithub({ channels: ['main', 'other'], typeFrom: '/payload/kind' });
    const body = `payload=${encodeURIComponent(JSON.stringify({ kind: 'form', long: 'x'.repeat(200_000) }))}`;
    const form = await send({ body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    const { records } = deliveredBy(form);
    expect(records.map((record) => record.channel)).toEqual([`${networkId}.main`, `${networkId}.other`]);
    expect(await setup.admin.ask('GET', `/ledger/channels/${networkId}.other/records/${records[0]!.id}`)).toMatchObject(
      {
        type: 'form',
        data: { payload: { kind: 'form' } },
      },
    );
    expectProblem(await send({ body: 'x'.repeat(1_048_577) }), 'PAYLOAD_TOO_LARGE');
  });

  it('with the id of another one is 200, writes nothing and leaves an event', async () => {
    const { send, source, networkId, channel } = await newGithub();
    const deliveryId = 'one-id';
    await send({ body: '{"n":1}', deliveryId });
    for (const gateway of [0, 1]) {
      expect(deliveredBy(await send({ body: '{"n":2}', deliveryId }, gateway)).records).toEqual([]);
    }
    expect(await ledgerSize(setup.admin, channel)).toBe(1);
    const { items } = await setup.admin.ask('GET', `/events?networkId=${networkId}&status=rejected`);
    expect(items).toHaveLength(2);
    expect(await deliveriesOf(setup.admin, source)).toMatchObject([
      { outcome: 'conflict' },
      { outcome: 'conflict' },
      { outcome: 'written' },
    ]);
    const { text } = await setup.gateway.ops.send({ path: '/metrics' });
    expect(text).toMatch(/sealgate_ingest_delivery_conflicts_total\{[^}]*\} [1-9]/);
    expect(text).toMatch(/sealgate_ingest_deliveries_total\{[^}]*scheme="github"[^}]*outcome="conflict"[^}]*\} [1-9]/);
  });

  it('whose record id exists with other content is 200 and leaves an event as well', async () => {
    const { send, source, channel } = await newGithub({ idFrom: '/n' });
    await send({ body: '{"n":1}' });
    expect(deliveredBy(await send({ body: '{"n":1,"more":true}' })).records).toEqual([]);
    expect(await ledgerSize(setup.admin, channel)).toBe(1);
    expect(await deliveriesOf(setup.admin, source)).toMatchObject([{ outcome: 'conflict' }, { outcome: 'written' }]);
  });
});

describe('a source', () => {
  it('is one 404 where it is unknown, disabled, deleted or malformed, from the next delivery on', async () => {
    const { send, source } = await newGithub();
    deliveredBy(await send({}));
    await setup.admin.ask('PATCH', source.adminPath, { enabled: false });
    const answers = [await send({}), await send({}, 1)];
    await setup.admin.ask('PATCH', source.adminPath, { enabled: true });
    deliveredBy(await send({}, 1));
    await setup.admin.ask('DELETE', source.adminPath);
    await setup.admin.ask('DELETE', source.adminPath);
    const http = setup.gateway.public;
    answers.push(await send({}), await send({}, 1));
    for (const path of [`/hooks/src_${'A'.repeat(22)}`, '/hooks/x', `${source.path}x`]) {
      answers.push(await sendGithub(http, path, { secret: newSecret() }));
    }
    for (const answer of answers) expectProblem(answer, 'NOT_FOUND');
    expect(new Set(answers.map(({ text }) => JSON.parse(text).detail as string)).size).toBe(1);
    expect((await http.send({ path: source.path })).headers['allow']).toBe('POST');
    expectProblem(await setup.admin.get(source.adminPath), 'NOT_FOUND');
  });

  it('rotates its secret without losing a delivery, and rejects the old one once it was removed', async () => {
    const { send, source, secret } = await newGithub();
    const next = newSecret();
    const patch = (secrets: object[]) => setup.admin.ask('PATCH', source.adminPath, { secrets });
    const outcomes: Promise<HttpAnswer>[] = [];
    for (let n = 0; n < 40; n += 1) {
      if (n === 10) await patch([{ id: 'k1' }, { id: 'k2', value: next }]);
      outcomes.push(send({ secret: n < 20 ? secret : next, body: `{"n":${n}}` }, n % 2));
      if (n === 30) {
        await Promise.all(outcomes);
        await patch([{ id: 'k2' }]);
      }
    }
    expect(new Set(statusesOf(await Promise.all(outcomes)))).toEqual(new Set([200]));
    for (const gateway of [0, 1]) expectProblem(await send({ secret }, gateway), 'UNAUTHENTICATED');
  });

  it.each([
    ['was deleted', 404, ({ source }: GithubSource) => setup.admin.ask('DELETE', source.adminPath)],
    ['was disabled', 404, ({ source }: GithubSource) => setup.admin.ask('PATCH', source.adminPath, { enabled: false })],
    [
      'lost the secret they are signed with',
      401,
      ({ source }: GithubSource) =>
        setup.admin.ask('PATCH', source.adminPath, { secrets: [{ id: 'k2', value: newSecret() }] }),
    ],
  ])(
    'writes nothing after the answer that it %s, whatever is in flight at both processes',
    async (_, refusal, change) => {
      const one = await newGithub();
      const [deliveryIds, statuses]: [string[], number[]] = [[], []];
      let isAnswered = false;
      const late: number[] = [];
      const busy = Array.from({ length: 8 }, async (__, worker) => {
        for (let n = 0, refused = 0; refused < 2; n += 1) {
          const [isLate, deliveryId] = [isAnswered, `${worker}-${n}`];
          const answer = await one.send({ deliveryId, body: `{"n":${n}}` }, n % 2);
          statuses.push(answer.status);
          if (answer.status === 200) deliveryIds.push(deliveryId);
          if (isLate) late.push(answer.status);
          if (answer.status !== 200) refused += 1;
        }
      });
      await until(async () => deliveryIds.length >= 40, { timeoutMs: 10_000 });
      await change(one);
      isAnswered = true;
      const size = await ledgerSize(setup.admin, one.channel);
      await Promise.all(busy);
      expect(new Set(statuses)).toEqual(new Set([200, refusal]));
      expect(new Set(late)).toEqual(new Set([refusal]));
      expect(deliveryIds).toHaveLength(size);
      expect(await ledgerSize(setup.admin, one.channel)).toBe(size);
    },
  );

  it('discloses its secrets nowhere: not in the admin API, the database, the log or the metrics', async () => {
    const { source, secret, networkId, send } = await newGithub();
    await send({});
    await send({ secret: `wrong-${secret}` });
    const answers = [
      await setup.admin.get(source.adminPath),
      await setup.admin.get(`/networks/${networkId}/sources`),
      await setup.admin.get(`${source.adminPath}/deliveries`),
      await setup.admin.send('PATCH', source.adminPath, {
        secrets: [
          { id: 'k1', value: secret },
          { id: 'k1', value: secret },
        ],
      }),
      await setup.gateway.ops.send({ path: '/metrics' }),
    ];
    for (const { text } of answers) expect(text).not.toContain(secret);
    expect(answers[0]!.body).toMatchObject({ secrets: [{ id: 'k1', isPublic: false }] });
    for (const gateway of setup.gateways) expect(gateway.logText()).not.toContain(secret);
  });

  it('that is flooded with bad signatures is refused unchecked, and no other source is', async () => {
    const one = await newGithub();
    const other = await newSource(setup.admin, one.networkId, { secret: one.secret });
    const flood = await Promise.all(Array.from({ length: 120 }, () => one.send({ secret: newSecret() })));
    const limited = flood.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(20);
    for (const answer of limited) expectProblem(answer, 'RATE_LIMITED');
    expect(new Set(statusesOf(flood))).toEqual(new Set([401, 429]));
    const through = await sendGithub(setup.gateway.public, other.path, { secret: one.secret });
    deliveredBy(through);
    // The source's own quota is unaffected, too.
    await until(async () => (await one.send({})).status === 200, { timeoutMs: 5000 });
  });
});
