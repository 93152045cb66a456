import { createHmac } from 'node:crypto';
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import {
  deliveredBy,
  githubHeaders,
  githubSource,
  newSecret,
  newSource,
  type GithubSource,
} from './harness/webhook-sender.ts';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await sharedSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

type Row = Record<string, unknown> & { readonly refusedId: string };

const listOf = async ({ source }: GithubSource, query = '') =>
  (await setup.admin.ask('GET', `${source.adminPath}/refused${query}`))['items'] as Row[];
/** They are written once a second. */
async function refusedBy(github: GithubSource, count: number): Promise<Row[]> {
  let rows: Row[] = [];
  await until(async () => (rows = await listOf(github)).length >= count, { timeoutMs: 10_000 });
  expect(rows).toHaveLength(count);
  return rows;
}
const process = ({ source }: GithubSource, refusedId: string) =>
  setup.admin.ask('POST', `${source.adminPath}/refused/${refusedId}/process`);

const bodyOf = (bytes: number) => JSON.stringify({ type: 'push', text: 'x'.repeat(bytes - 25) });
const MEBIBYTE = 1_048_576;

/** Repeats a delivery while it is 503, as its sender would: a busy disk may not take 25 MiB in the time of one append. */
async function written(send: () => Promise<HttpAnswer>) {
  let answer: HttpAnswer | undefined;
  await until(async () => (answer = await send()).status !== 503, { timeoutMs: 60_000 });
  return deliveredBy(answer!, answer!.headers['idempotent-replayed'] === 'true');
}

describe('a refused delivery', () => {
  it('is listed with its reason, and its sender learns nothing new', async () => {
    const github = await githubSource(setup, { idFrom: '/n', allowedTypes: ['push', 'issues'] });
    const answers = [
      await github.send({ body: '{"n":1}', secret: newSecret() }),
      await github.send({ headers: { 'X-Hub-Signature-256': 'sha1=x' } }),
      await github.send({ body: '{"n":1' }),
      await github.send({ body: '{"m":1}' }),
      await github.send({ body: '{"n":1}', headers: { 'Content-Type': 'image/png' } }),
      await github.send({ body: '{"n":1}', event: 'fork' }),
      await github.send({ body: bodyOf(1_200_000) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 400, 400, 415, 403, 413]);
    expect(answers[0]!.text.replace(/urn:request:[^"]*/, '')).toBe(answers[1]!.text.replace(/urn:request:[^"]*/, ''));
    const first = deliveredBy(await github.send({ body: '{"n":1}', deliveryId: 'one' }));
    expect(first.records).toHaveLength(1);
    expect(deliveredBy(await github.send({ body: '{"n":2}', deliveryId: 'one' })).records).toEqual([]);
    const rows = await refusedBy(github, 8);
    expect(rows.map(({ code, reason, authentic, pointer }) => [code, reason, authentic, pointer]).toReversed()).toEqual(
      [
        ['UNAUTHENTICATED', 'no-matching-secret', false, null],
        ['UNAUTHENTICATED', 'header-malformed', false, null],
        ['INVALID_JSON', 'not-json', true, null],
        ['INVALID_REQUEST', 'configuration', true, '/n'],
        ['UNSUPPORTED_MEDIA_TYPE', 'media-type', true, null],
        ['ASSET_TYPE_NOT_ALLOWED', 'type-not-allowed', true, null],
        ['PAYLOAD_TOO_LARGE', 'too-large', false, null],
        ['IDEMPOTENCY_KEY_REUSED', 'delivery-id-reused', true, null],
      ],
    );
    expect(await listOf(github, '?reason=not-json')).toEqual([rows[5]]);
    expect(await listOf(github, '?code=PAYLOAD_TOO_LARGE')).toMatchObject([{ bodyBytes: 1_200_000, keptUntil: null }]);
    const counts = await setup.admin.ask('GET', `${github.source.adminPath}/refused/counts`);
    expect(counts['items']).toContainEqual(
      expect.objectContaining({ code: 'UNAUTHENTICATED', reason: 'no-matching-secret', deliveries: 1 }),
    );
    expectProblem(await setup.admin.send('GET', `${github.source.adminPath}/refused?reason=none`), 'INVALID_REQUEST');
  });

  it('of a clock that is off is listed with its seconds', async () => {
    const networkId = await setup.newNetwork();
    const secret = newSecret();
    const source = await newSource(setup.admin, networkId, { scheme: 'slack', secret });
    const timestamp = String(Math.floor(Date.now() / 1000) - 400);
    const signature = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:{}`).digest('hex')}`;
    const headers = { 'X-Slack-Request-Timestamp': timestamp, 'X-Slack-Signature': signature };
    const answer = await setup.gateway.public.send({
      method: 'POST',
      path: source.path,
      body: '{}',
      headers: { 'Content-Type': 'application/json', ...headers },
    });
    expectProblem(answer, 'UNAUTHENTICATED');
    const [row] = await refusedBy({ source } as GithubSource, 1);
    expect(row).toMatchObject({ reason: 'clock-skew', authentic: false });
    expect(Math.abs(Number(row!['skewSeconds']) + 400)).toBeLessThanOrEqual(2);
  });

  it('that was kept is written once by processing it again, also while its sender repeats it', async () => {
    const github = await githubSource(setup, { keepRefusedHours: 1, allowedTypes: [] });
    const body = JSON.stringify({ a: 1, password: 'geheim' });
    await github.send({ body, deliveryId: 'kept' });
    await github.send({ body, deliveryId: 'forged', secret: newSecret() });
    const [forged, kept] = await refusedBy(github, 2);
    expect(kept!['keptUntil']).not.toBeNull();
    expect(JSON.stringify([forged, kept])).not.toContain('geheim');
    expect(await process(github, kept!.refusedId)).toMatchObject({ status: 403, code: 'ASSET_TYPE_NOT_ALLOWED' });
    await setup.admin.ask('PATCH', github.source.adminPath, { allowedTypes: null });
    expect(await process(github, forged!.refusedId)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    const results = await Promise.all([
      process(github, kept!.refusedId),
      process(github, kept!.refusedId),
      github.send({ body, deliveryId: 'kept' }, 1),
    ]);
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await ledgerSize(setup.admin, github.channel)).toBe(1);
    const [written] = deliveredBy(await github.send({ body, deliveryId: 'kept' }), true).records;
    const record = await setup.admin.ask('GET', `/ledger/channels/${github.channel}/records/${written!.id}`);
    expect(record['data']).toEqual({ a: 1 });
    const [, processed] = await refusedBy(github, 2);
    for (let call = 0; call < 2; call += 1)
      expect(await process(github, kept!.refusedId)).toEqual({
        status: 200,
        code: null,
        outcome: processed!['outcome'],
        eventId: processed!['eventId'],
      });
    expect(await ledgerSize(setup.admin, github.channel)).toBe(1);
    const audit = await setup.admin.ask('GET', `/audit?resource=source&resourceId=${github.source.sourceId}`);
    const actions = (audit['items'] as { action: string }[]).map(({ action }) => action);
    expect(actions.filter((action) => action === 'source.process')).toHaveLength(4);
    expect(await refusedBy(github, 2)).toMatchObject([{ outcome: 'UNAUTHENTICATED' }, { outcome: expect.any(String) }]);
  });

  it('that was kept is shown to operators without sensitive members and credentials, and each look is audited', async () => {
    const github = await githubSource(setup, { keepRefusedHours: 1, allowedTypes: [] });
    const headers = { 'X-Other-Token': 'geheim' };
    await github.send({ body: JSON.stringify({ a: [{ PassWord: 'geheim' }], b: 1 }), deliveryId: 'kept', headers });
    const [kept] = await refusedBy(github, 1);
    const path = `${github.source.adminPath}/refused/${kept!.refusedId}`;
    expect(await setup.admin.ask('GET', path)).toEqual(kept);
    const shown = await setup.admin.ask('GET', `${path}/kept`);
    expect(shown).toMatchObject({ body: '{"a":[{}],"b":1}', strippedFields: 1, whyHidden: null });
    expect(shown['headers']).toContainEqual({ name: 'x-github-delivery', value: 'kept' });
    expect(shown['headers']).toContainEqual({ name: 'x-other-token', value: null });
    expect(JSON.stringify(shown)).not.toContain('geheim');
    const audit = await setup.admin.ask('GET', `/audit?resource=source&resourceId=${github.source.sourceId}`);
    expect(audit['items']).toContainEqual(
      expect.objectContaining({ action: 'source.look', detail: { refusedId: kept!.refusedId } }),
    );
    await setup.admin.ask('PATCH', github.source.adminPath, { keepRefusedHours: 0 });
    expectProblem(await setup.admin.send('GET', `${path}/kept`), 'INVALID_STATE_TRANSITION');
    expectProblem(await setup.admin.send('GET', `${path}x`), 'NOT_FOUND');
  });

  it('is listed among those of all sources, grouped with them, and counted in the hour', async () => {
    const github = await githubSource(setup, { allowedTypes: ['push'] });
    const { sourceId, adminPath } = github.source;
    await github.send({ event: 'fork', deliveryId: 'of-all' });
    await github.send({ event: 'fork', deliveryId: 'of-all' });
    await github.send({ event: 'push' });
    const rows = await refusedBy(github, 2);
    const everywhere = await setup.admin.ask('GET', `/refused?sourceId=${sourceId}&deliveryId=of-all`);
    const [networkId] = github.channel.split('.');
    expect(everywhere['items']).toMatchObject(rows.map((row) => ({ ...row, networkId, sourceId })));
    expect(everywhere['total']).toBe(2);
    const groupsOf = async () => (await setup.admin.ask('GET', `/refused/groups?sourceId=${sourceId}`))['items'];
    await until(async () => ((await groupsOf()) as object[]).length > 0, { timeoutMs: 10_000 });
    expect(await groupsOf()).toMatchObject([
      { code: 'ASSET_TYPE_NOT_ALLOWED', reason: 'type-not-allowed', deliveries: 2, exampleId: rows[0]!.refusedId },
    ]);
    const hours = async () =>
      (await setup.admin.ask('GET', `${adminPath}/activity`))['items'] as { accepted: number; refused: number }[];
    const sum = (all: { accepted: number; refused: number }[], kind: 'accepted' | 'refused') =>
      all.reduce((total, hour) => total + hour[kind], 0);
    await until(async () => sum(await hours(), 'refused') === 2, { timeoutMs: 10_000 });
    const all = await hours();
    expect([all.length, sum(all, 'accepted')]).toEqual([24, 1]);
    const days = (await setup.admin.ask('GET', `${adminPath}/activity?per=day`))['items'] as { refused: number }[];
    expect([days.length, days.at(-1)!.refused + days.at(-2)!.refused]).toEqual([14, 2]);
    const unknown = { ...github.source, adminPath: adminPath.replace(sourceId, `src_${'A'.repeat(22)}`) };
    expectProblem(await setup.admin.send('GET', `${unknown.adminPath}/activity`), 'NOT_FOUND');
    const refusedOnly = await setup.admin.ask('GET', `${adminPath}/deliveries?outcome=refused`);
    expect(refusedOnly).toMatchObject({ items: [{ outcome: 'refused', deliveries: 2 }], total: 1 });
  });

  it('that its sender repeated is not written again under an id that is configured later', async () => {
    const github = await githubSource(setup, { keepRefusedHours: 1, allowedTypes: [] });
    const body = JSON.stringify({ a: 1, other: 'id' });
    await github.send({ body, deliveryId: 'first' });
    const [kept] = await refusedBy(github, 1);
    await setup.admin.ask('PATCH', github.source.adminPath, { allowedTypes: null });
    const { eventId } = deliveredBy(await github.send({ body, deliveryId: 'first' }, 1));
    await setup.admin.ask('PATCH', github.source.adminPath, { deliveryIdFrom: '/other' });
    expect(await process(github, kept!.refusedId)).toMatchObject({ outcome: 'replayed', eventId });
    expect(await ledgerSize(setup.admin, github.channel)).toBe(1);
  });

  it('that was too large is kept, and written when maxBytes was raised', async () => {
    const github = await githubSource(setup, { keepRefusedHours: 1 });
    const body = bodyOf(3 * MEBIBYTE);
    expectProblem(await github.send({ body, deliveryId: 'large' }), 'PAYLOAD_TOO_LARGE');
    const [row] = await refusedBy(github, 1);
    expect(row).toMatchObject({
      authentic: true,
      reason: 'too-large',
      deliveryId: 'large',
      keptUntil: expect.any(String),
    });
    await setup.admin.ask('PATCH', github.source.adminPath, { maxBytes: 25 * MEBIBYTE });
    expect(await process(github, row!.refusedId)).toMatchObject({ status: 200, outcome: 'written' });
    expect(await ledgerSize(setup.admin, github.channel)).toBe(1);
  });
});

describe('a large delivery', () => {
  it('of 25 MiB is written, read, proved and audited; one byte more is 413', async () => {
    const github = await githubSource(setup, { maxBytes: 25 * MEBIBYTE });
    const body = bodyOf(25 * MEBIBYTE);
    expect(Buffer.byteLength(body)).toBe(25 * MEBIBYTE);
    const [receipt] = (await written(() => github.send({ body, deliveryId: 'json' }))).records;
    const { channel } = github;
    const record = await setup.admin.ask('GET', `/ledger/channels/${channel}/records/${receipt!.id}`);
    expect((record['data'] as { text: string }).text).toHaveLength(25 * MEBIBYTE - 25);
    await setup.admin.ask('GET', `/ledger/channels/${channel}/records/${receipt!.id}/proof`);
    expect(await setup.admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true });
    expectProblem(await github.send({ body: bodyOf(25 * MEBIBYTE + 1) }), 'PAYLOAD_TOO_LARGE');
    // Not strict, so that the scanner and the writer of a text meet the size as well.
    const text = `{"n":820982911946154508,"password":"geheim",${'"a":"\\u0061",'.repeat(1_900_000)}"z":1}`;
    const [other] = (await written(() => github.send({ body: text, deliveryId: 'text' }))).records;
    const kept = await setup.admin.ask('GET', `/ledger/channels/${channel}/records/${other!.id}`);
    expect(kept['data']).toEqual({ value: text.replace('"password":"geheim",', '') });
  }, 120_000);

  it('that no process could hold as objects or as JSON is kept as text, or refused and listed', async () => {
    const github = await githubSource(setup, { maxBytes: 25 * MEBIBYTE });
    const many = `[${'{},'.repeat(8 * MEBIBYTE)}0]`;
    const [receipt] = (await written(() => github.send({ body: many, deliveryId: 'many' }))).records;
    const record = await setup.admin.ask('GET', `/ledger/channels/${github.channel}/records/${receipt!.id}`);
    expect(record).toMatchObject({ data: { value: many }, extra: { parsed: false, reason: 'TOO_MANY_VALUES' } });
    const headers = { 'Content-Type': 'text/plain' };
    const control = '\u0001'.repeat(25 * MEBIBYTE);
    expectProblem(await github.send({ body: control, deliveryId: 'control', headers }), 'PAYLOAD_TOO_LARGE');
    expect(await refusedBy(github, 1)).toMatchObject([{ authentic: true, reason: 'too-large' }]);
    expect((await github.send({ body: '{}' })).status).toBe(200);
  }, 120_000);

  it('is refused with 503 and Retry-After beside another of its source, also when it was kept, until that one leaves', async () => {
    const { github, body, socket } = await halfSent();
    const [kept] = await refusedBy(github, 1);
    const again = await setup.admin.send('POST', `${github.source.adminPath}/refused/${kept!.refusedId}/process`);
    for (const refused of [await github.send({ body, deliveryId: 'beside' }), again]) {
      expect(refused.headers['retry-after']).toBe('5');
      expectProblem(refused, 'OVERLOADED');
    }
    const audit = await setup.admin.ask('GET', `/audit?resource=source&resourceId=${github.source.sourceId}`);
    expect(audit['items']).not.toContainEqual(expect.objectContaining({ action: 'source.process' }));
    expect((await github.send({ body: '{}' })).status).toBe(200);
    socket.destroy();
    await until(async () => (await github.send({ body, deliveryId: 'after' })).status === 200);
  });

  it('that trickles gives its place to another, long before it would time out', async () => {
    const { github, body, socket } = await halfSent();
    let told = '';
    socket.on('data', (chunk) => (told += String(chunk)));
    await until(async () => (await github.send({ body, deliveryId: 'beside' })).status === 200, {
      timeoutMs: 15_000,
    });
    await until(() => told.includes('OVERLOADED') && told.includes('too slowly'));
    expect(told).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
  });

  /** A source that keeps a large delivery, and a connection that has sent the first half of a large delivery to it. */
  async function halfSent() {
    const github = await githubSource(setup, { maxBytes: 5 * MEBIBYTE, keepRefusedHours: 1 });
    const body = bodyOf(2 * MEBIBYTE);
    expectProblem(await github.send({ body: bodyOf(6 * MEBIBYTE) }), 'PAYLOAD_TOO_LARGE');
    const headers = {
      ...(await githubHeaders({ secret: github.secret, body })),
      'Content-Length': String(body.length),
    };
    const socket = new Socket();
    const { port } = new URL(setup.gateway.public.origin);
    await new Promise<void>((resolve) => socket.connect(Number(port), '127.0.0.1', resolve));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `POST ${github.source.path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n${body.slice(0, MEBIBYTE + 100_000)}`,
    );
    const held = async () => {
      const { text } = await setup.gateway.ops.send({ path: '/metrics' });
      return Number(/^sealgate_ingest_delivery_bytes\{[^}]*\} (\d+)$/m.exec(text)?.[1]);
    };
    await until(async () => (await held()) > MEBIBYTE, { what: 'the first half to arrive' });
    return { github, body, socket };
  }
});
