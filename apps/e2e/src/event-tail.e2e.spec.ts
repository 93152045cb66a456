import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { expectWritten } from './harness/answers.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { boundMs } from './harness/scale.ts';
import { sender } from './harness/sender.ts';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await contractSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

interface Message {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads the event stream as a browser does. */
async function watch(query = '', headers: Readonly<Record<string, string>> = {}) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const url = `${setup.gateway.admin.origin}/admin/v1/events/tail${query}`;
    const asked = get(url, { headers: { Authorization: `Bearer ${setup.adminToken}`, ...headers } }, resolve);
    asked.on('error', reject);
  });
  let text = '';
  let hasEnded = false;
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('end', () => (hasEnded = true)).on('error', () => undefined);
  const messages = () =>
    text
      .split('\n\n')
      .filter((part) => part.includes('data: '))
      .map((part): Message => {
        const lines = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
        return { event: lines['event'], id: lines['id'], data: JSON.parse(lines['data']) };
      });
  return { response, messages, ended: () => hasEnded, leave: () => response.destroy() };
}

const seen = (messages: readonly Message[]) => messages.filter(({ event }) => event === 'event').map(({ id }) => id);

it('events arrive, filtered, and resume from Last-Event-ID', async () => {
  const [one, other] = [await setup.newNetwork(), await setup.newNetwork()];
  const from = async (networkId: string) =>
    sender(setup.gateway.public, networkId, (await setup.newKey(networkId)).rawKey);
  const [ofOne, ofOther] = [await from(one), await from(other)];
  const [all, some] = [await watch(), await watch(`?networkId=${one}&type=order`)];
  expect([all.response.statusCode, all.response.headers['content-type']]).toEqual([200, 'text/event-stream']);
  expect(all.response.headers['cache-control']).toBe('no-store');
  const answers = [
    await ofOne.post({ id: 'a', type: 'order' }),
    await ofOther.post({ id: 'b', type: 'order' }),
    await ofOne.post({ id: 'c', type: 'else' }),
  ];
  for (const answer of answers) expectWritten(answer);
  const ids = answers.map(({ body }) => (body as { eventId: string }).eventId);
  await until(() => seen(all.messages()).length >= 3 && seen(some.messages()).length >= 1);
  expect(seen(all.messages())).toEqual(ids);
  expect(seen(some.messages())).toEqual([ids[0]]);
  expect(all.messages()[0]!.data).toEqual((await setup.admin.get(`/events/${ids[0]}`)).body);
  const back = await watch(`?networkId=${one}`, { 'Last-Event-ID': ids[0]! });
  await until(() => seen(back.messages()).includes(ids[2]));
  const gap = await watch(`?lastEventId=evt_${'0'.repeat(32)}`);
  await until(() => gap.messages().some(({ event }) => event === 'gap'));
  for (const { leave } of [all, some, back, gap]) leave();
});

it('invalid requests are refused', async () => {
  expectProblem(await setup.admin.get('/events/tail?status=good'), 'INVALID_REQUEST');
  expectProblem(await setup.admin.get('/events/tail?limit=5'), 'UNKNOWN_PARAMETER');
  expectProblem(await setup.admin.get('/events/tail?lastEventId=x'), 'INVALID_REQUEST');
  expectProblem(await setup.admin.send('POST', '/events/tail', {}), 'METHOD_NOT_ALLOWED');
  const stranger = await setup.gateway.admin.send({ path: '/admin/v1/events/tail' });
  expectProblem(stranger, 'UNAUTHENTICATED');
});

it('a request is found by its id, own or generated, with all of its events', async () => {
  const networkId = await setup.newNetwork();
  const { rawKey } = await setup.newKey(networkId);
  const post = (id: string, headers: Readonly<Record<string, string>>) =>
    setup.gateway.public.send({
      method: 'POST',
      path: `/${networkId}`,
      headers: { 'X-Api-Key': rawKey, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ id }),
    });
  const [named, ours] = [await post('a', { 'X-Request-Id': 'of-the-shop-7' }), await post('b', {})];
  for (const answer of [named, ours]) {
    expectWritten(answer);
    const requestId = String(answer.headers['x-request-id']);
    const { items } = await setup.admin.ask('GET', `/events?requestId=${requestId}`);
    expect(items).toMatchObject([{ eventId: (answer.body as { eventId: string }).eventId, requestId }]);
    const none = await setup.admin.ask('GET', `/events?requestId=${requestId}&status=rejected`);
    expect(none).toEqual({ items: [], nextCursor: null, total: 0 });
  }
  const eventOf = ({ body }: typeof named) => (body as { eventId: string }).eventId;
  for (const query of [
    `eventId=${eventOf(named)}`,
    `recordId=a&networkId=${networkId}`,
    `recordId=a&requestId=of-the-shop-7&kind=write`,
  ])
    expect(await setup.admin.ask('GET', `/events?${query}`)).toMatchObject({
      items: [{ eventId: eventOf(named) }],
      total: 1,
    });
  for (const query of [
    `recordId=a&eventId=${eventOf(ours)}`,
    `recordId=nosuch`,
    `deliveryId=nosuch`,
    `eventId=evt_nosuch`,
  ])
    expect(await setup.admin.ask('GET', `/events?${query}`)).toEqual({ items: [], nextCursor: null, total: 0 });
  for (const name of ['requestId', 'eventId', 'recordId', 'deliveryId'])
    expectProblem(await setup.admin.get(`/events?${name}=`), 'INVALID_REQUEST');
  expectProblem(await setup.admin.get(`/events?kind=read`), 'INVALID_REQUEST');
  const { items } = await setup.admin.ask('GET', `/events?channel=${networkId}.main&kind=write`);
  expect(items).toHaveLength(2);
});

it('five clients of one token may connect; a stop of the process ends all streams and does not wait for them', async () => {
  const all = await Promise.all(Array.from({ length: 5 }, () => watch()));
  const answer = await setup.admin.get('/events/tail');
  expectProblem(answer, 'OVERLOADED');
  all[0]!.leave();
  await until(async () => {
    const next = await watch();
    if (next.response.statusCode === 200) all.push(next);
    return next.response.statusCode === 200;
  });
  const begun = performance.now();
  expect(await setup.gateway.stop()).toBe(0);
  expect(performance.now() - begun).toBeLessThan(boundMs(8_000));
  for (const { messages, ended } of all.slice(1)) {
    await until(() => ended());
    expect(messages().at(-1)).toMatchObject({ event: 'end', data: { reason: 'the process stops' } });
  }
  await setup.gateway.start();
}, 60_000);
