import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { until } from '@sealgate/testing';
import { deliverEvents, type DeliverEventsPorts } from '../domain/deliver-events.ts';
import { BEGINNING, makeEventCursor } from '../domain/event-cursor.ts';
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  findSubscription,
  MAX_SUBSCRIPTIONS,
  type ManageSubscriptionsPorts,
} from '../domain/manage-subscriptions.ts';
import { memoryEvents } from '../testing/memory-events.ts';
import { anyMapping, openTestDatabase, type TestDatabase } from '../testing/open-test-peer.ts';
import { parseNetworks, urlProblem } from './receiver-address.ts';
import { subscriptionWorker, type SubscriptionWorker } from './subscription-worker.ts';
import { deliveryStore, resealSecrets, subscriptionsStore } from './subscriptions-store.ts';

const CHANNEL = 'acme.main';
const URL_ = 'https://hooks.example.com/in';
const secretsOf = (text: string) => ServerSecrets.parse(text).sealing('test');
const oldText = `old:${'o'.repeat(32)}`;
const box = secretsOf(oldText);
const noAudit = async () => undefined;

let database: TestDatabase;
let source: ReturnType<typeof memoryEvents>;
let ports: ManageSubscriptionsPorts;
const workers: SubscriptionWorker[] = [];
let made = 0;

beforeAll(async () => {
  database = await openTestDatabase();
}, 60_000);
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await database.sql.query({ text: 'TRUNCATE peer.subscriptions' });
});
afterAll(() => database.close());

function open() {
  source = memoryEvents();
  ports = {
    subscriptions: subscriptionsStore(database.sql, database.sql),
    source,
    mappings: anyMapping,
    seal: (value, id) => box.seal(value, id),
    urlProblem: (url) => urlProblem(url, parseNetworks('192.0.2.99/32')),
    newId: () => `sub_${(made += 1)}`,
    now: Date.now,
  };
  return ports;
}
const create = (more: object = {}) =>
  createSubscription(ports, { url: URL_, channel: CHANNEL, from: '0', ...more }, () => noAudit);
const read = (id: string) => findSubscription(ports, id);

interface Sent {
  readonly owner: string;
  readonly id: string;
  readonly url: string;
  readonly secrets: readonly string[];
}

/** A process that delivers, on the events of the test. */
function worker(owner: string, sent: Sent[], { leaseMs = 60_000, problem = (): string | undefined => undefined } = {}) {
  const store = deliveryStore(database.sql, { owner, leaseMs });
  const delivering: DeliverEventsPorts = {
    ...{ store, source, mappings: anyMapping, now: Date.now, random: Math.random },
    async send({ id, url, secrets }) {
      sent.push({ owner, id, url, secrets });
      return problem();
    },
    open: ({ sealed }, id) => box.open(sealed, id),
    startTimer(done, ms) {
      const timer = setTimeout(done, ms);
      return () => clearTimeout(timer);
    },
    onStopped: () => undefined,
    onAttempt: () => undefined,
  };
  const made = subscriptionWorker({
    store,
    deliver: (held, signal) => deliverEvents(delivering, held, signal),
    everyMs: 30,
    now: Date.now,
    onFailure: () => undefined,
  });
  workers.push(made);
  return made;
}
const cursorOf = (block: number) => makeEventCursor(CHANNEL, { block, index: 0 });

describe('a subscription', () => {
  it('shows the secret that is generated once, and stores it sealed for itself', async () => {
    open();
    const { subscription, generated } = await create();
    expect(generated.get('k1')).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secrets } = await read(subscription.subscriptionId);
    expect(box.open(secrets[0]!.sealed, subscription.subscriptionId)).toBe(generated.get('k1'));
    expect(() => box.open(secrets[0]!.sealed, 'sub_other')).toThrow();
    const rows = await database.sql.query({ text: 'SELECT * FROM peer.subscriptions' });
    expect(JSON.stringify(rows)).not.toContain(generated.get('k1')!.slice('whsec_'.length));
  });

  it('begins now, at the first event, or after a cursor', async () => {
    open();
    source.commit();
    source.commit();
    const cursors = await Promise.all(
      [undefined, '0', cursorOf(0)].map(async (from) => (await create({ from })).subscription.cursor),
    );
    expect(cursors).toEqual([cursorOf(1), makeEventCursor(CHANNEL, BEGINNING), cursorOf(0)]);
    for (const from of ['x', '', cursorOf(7), makeEventCursor('acme.other', BEGINNING)])
      await expect(create({ from })).rejects.toMatchObject({ code: 'INVALID_CURSOR', faults: [{ pointer: '/from' }] });
  });

  it('rotates its secrets: two at once, and then the new one alone', async () => {
    open();
    const { subscription, generated } = await create();
    const id = subscription.subscriptionId;
    const change = (secrets: { id: string; value?: string }[]) =>
      changeSubscription(ports, id, { change: { secrets }, also: noAudit });
    const both = await change([{ id: 'k1' }, { id: 'k2' }]);
    expect([...both.generated.keys()]).toEqual(['k2']);
    const values = (await read(id)).secrets.map(({ sealed }) => box.open(sealed, id));
    expect(values).toEqual([generated.get('k1'), both.generated.get('k2')]);
    const last = await change([{ id: 'k2' }]);
    expect([last.generated.size, last.subscription.secrets.map((one) => one.id)]).toEqual([0, ['k2']]);
    await expect(change([{ id: 'k2' }, { id: 'k2' }])).rejects.toMatchObject({
      faults: [{ pointer: '/secrets/1/id' }],
    });
  });

  it('is refused for a URL, channel or type that it cannot have, and beyond the most', async () => {
    open();
    for (const url of ['http://hooks.example.com', 'https://127.0.0.1/', 'https://me@hooks.example.com/'])
      await expect(create({ url })).rejects.toMatchObject({ code: 'INVALID_REQUEST', faults: [{ pointer: '/url' }] });
    await expect(create({ channel: 'acme.other' })).rejects.toMatchObject({
      code: 'UNKNOWN_CHANNEL',
      faults: [{ in: 'body', pointer: '/channel' }],
    });
    await expect(create({ types: ['nothing'] })).rejects.toMatchObject({
      code: 'UNKNOWN_CHAINCODE',
      faults: [{ in: 'body', pointer: '/types/0' }],
    });
    for (let n = 0; n < MAX_SUBSCRIPTIONS; n += 1) await create();
    await expect(create()).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
  }, 30_000);

  it('is gone once it is deleted', async () => {
    open();
    const { subscription } = await create();
    await deleteSubscription(ports, subscription.subscriptionId, noAudit);
    await expect(read(subscription.subscriptionId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(deleteSubscription(ports, subscription.subscriptionId, noAudit)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('is sealed again with a new server secret', async () => {
    open();
    const { subscription, generated } = await create();
    const rotated = secretsOf(`new:${'n'.repeat(32)},${oldText}`);
    expect(await resealSecrets(database.sql, rotated)).toBe(1);
    expect(await resealSecrets(database.sql, rotated)).toBe(0);
    const { secrets } = await read(subscription.subscriptionId);
    expect(secrets[0]?.sealed).toMatch(/^new:/);
    expect(rotated.open(secrets[0]!.sealed, subscription.subscriptionId)).toBe(generated.get('k1'));
  });
});

describe('the delivery of subscriptions', () => {
  it('is by one of several processes, each event once and in order', async () => {
    open();
    const { subscription } = await create();
    const sent: Sent[] = [];
    for (const owner of ['a', 'b', 'c']) worker(owner, sent);
    for (let n = 0; n < 20; n += 1) source.commit();
    await until(async () => (await read(subscription.subscriptionId)).cursor === cursorOf(19));
    expect(sent.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => cursorOf(n)));
    expect(new Set(sent.map(({ owner }) => owner)).size).toBe(1);
    expect((await read(subscription.subscriptionId)).deliveredAt).not.toBeNull();
  });

  it('continues at another process when one stops, and when one dies', async () => {
    open();
    const { subscription } = await create();
    const id = subscription.subscriptionId;
    const sent: Sent[] = [];
    const first = worker('a', sent);
    source.commit();
    await until(async () => (await read(id)).cursor === cursorOf(0));
    await workers.splice(workers.indexOf(first), 1)[0]!.stop();
    worker('b', sent);
    source.commit();
    await until(async () => (await read(id)).cursor === cursorOf(1));
    // A process that is gone has a lease that ends.
    await workers.splice(0)[0]!.stop();
    await database.sql.query({
      text: `UPDATE peer.subscriptions SET lease_owner = 'gone', lease_until = now() + interval '300 ms'`,
    });
    worker('c', sent);
    source.commit();
    await until(async () => (await read(id)).cursor === cursorOf(2));
    expect(sent.map(({ owner, id: event }) => `${owner} ${event}`)).toEqual(
      ['a', 'b', 'c'].map((owner, block) => `${owner} ${cursorOf(block)}`),
    );
  });

  it('ends at a process whose lease another one has: it moves nothing', async () => {
    open();
    await create();
    const store = deliveryStore(database.sql, { owner: 'a', leaseMs: 60_000 });
    const [held] = await store.hold();
    await database.sql.query({ text: `UPDATE peer.subscriptions SET lease_owner = 'b'` });
    const failure = { problem: 'status', attempts: 1, since: new Date(), notBefore: new Date() };
    expect(
      await Promise.all([
        store.acknowledge(held!, cursorOf(1), undefined),
        store.fail(held!, failure),
        store.stop(held!),
      ]),
    ).toEqual([false, false, false]);
  });

  it('says what fails, pauses, and resumes at the same event with new settings', async () => {
    open();
    const { subscription } = await create();
    const id = subscription.subscriptionId;
    const sent: Sent[] = [];
    let problem: string | undefined = 'status';
    const delivering = worker('a', sent, { problem: () => problem });
    source.commit();
    await until(async () => (await read(id)).problem === 'status');
    expect(await read(id)).toMatchObject({ attempts: 1, failingSince: expect.any(String), state: 'active' });
    await until(async () => delivering.counts.failing === 1);
    await changeSubscription(ports, id, { change: { paused: true }, also: noAudit });
    await until(async () => delivering.counts.paused === 1);
    problem = undefined;
    const change = { paused: false, url: 'https://other.example.com/' };
    await changeSubscription(ports, id, { change, also: noAudit });
    await until(async () => (await read(id)).cursor === cursorOf(0));
    expect(sent.at(-1)).toMatchObject({ id: cursorOf(0), url: change.url });
    expect(await read(id)).toMatchObject({ attempts: 0, failingSince: null, problem: null });
  });
});
