import { createServer, get, type ClientRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { sha256 } from '@sealgate/json';
import { expectProblem, until } from '@sealgate/testing';
import request from 'supertest';
import { makeEventCursor } from '../domain/event-cursor.ts';
import { EventStreams } from '../domain/event-streams.ts';
import type { LedgerEvent } from '../domain/ledger-event.ts';
import { memoryEvents } from '../testing/memory-events.ts';
import { testApp } from '../testing/open-test-log.ts';
import { anyMapping } from '../testing/open-test-peer.ts';
import { eventRoutes } from './events.ts';

const KEY = 'k'.repeat(32);
const PATH = '/api/events?channel=acme.main';
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: (typeof LedgerEvent)['static'];
}

/** A peer with two streams a key and three in all, whose timers the test fires. */
async function peer() {
  const timers = new Map<() => void, number>();
  const source = memoryEvents();
  const problems: unknown[] = [];
  let nowMs = 0;
  let isLive = true;
  const startTimer = (done: () => void, ms: number) => {
    timers.set(done, ms);
    return () => timers.delete(done);
  };
  const streams = new EventStreams({
    source,
    mappings: anyMapping,
    now: () => nowMs,
    startTimer,
    onProblem: (error) => problems.push(error),
    mostStreams: 3,
    mostOfOne: 2,
  });
  const other = 'o'.repeat(32);
  const keyHash = [KEY, other].map((key) => sha256(key).toString('hex')).join(',');
  const routes = eventRoutes({ streams, startTimer, isLive: () => isLive });
  const app = testApp({ keyHash, isOpen: false, routes });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  closing.push(() => {
    streams.close();
    server.close();
    server.closeAllConnections();
  });
  return {
    source,
    streams,
    problems,
    other,
    timers,
    fire(ms: number) {
      for (const [done, its] of [...timers]) if (its === ms && timers.delete(done)) done();
    },
    pass: (ms: number) => (nowMs += ms),
    revoke: () => (isLive = false),
    ask: (path: string, key = KEY) => request(server).get(path).set('X-Api-Key', key),
    head: (path: string) => request(server).head(path).set('X-Api-Key', KEY),
    /** Opens a stream and reads it. */
    async stream(path = PATH, { headers = {}, key = KEY }: { headers?: Record<string, string>; key?: string } = {}) {
      let sent: ClientRequest | undefined;
      const response = await new Promise<IncomingMessage>((resolve) => {
        sent = get({ host: '127.0.0.1', port, path, headers: { 'X-Api-Key': key, ...headers }, agent: false }, resolve);
      });
      let text = '';
      let hasEnded = false;
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('close', () => (hasEnded = true)).on('error', () => undefined);
      sent?.on('error', () => undefined);
      const messages = () => text.split('\n\n').slice(0, -1).map(messageIn);
      const events = () => messages().filter(({ data }) => data !== undefined);
      return {
        response,
        events,
        /** What a client would send as Last-Event-ID. */
        lastId: () => messages().findLast(({ id }) => id !== undefined)?.id,
        received: (count: number) => until(async () => events().length >= count),
        ended: () => until(async () => hasEnded),
        leave: () => response.destroy(),
      };
    },
  };
}

function messageIn(text: string): Message {
  const lines = text.split('\n').map((line) => /^([a-z]*): (.*)$/s.exec(line)?.slice(1) ?? []);
  const of = (field: string) => lines.find(([name]) => name === field)?.[1];
  const [id, event, data] = [of('id'), of('event'), of('data')];
  return {
    ...(id === undefined ? {} : { id }),
    ...(event === undefined ? {} : { event }),
    ...(data === undefined ? {} : { data: JSON.parse(data) as Exclude<Message['data'], undefined> }),
  };
}

const blocks = (events: readonly Message[]) => events.map(({ data }) => data?.blockNumber);

describe('the events of a channel over HTTP', () => {
  it('are those from now on, with all that is known of them', async () => {
    const { source, stream } = await peer();
    source.commit();
    const client = await stream();
    expect(client.response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    source.commit();
    await client.received(1);
    const cursor = makeEventCursor('acme.main', { block: 1, index: 0 });
    expect(client.events()).toEqual([
      {
        id: cursor,
        event: 'commit',
        data: {
          cursor,
          channel: 'acme.main',
          chaincode: 'records',
          blockNumber: 1,
          transactionId: 'tx-1',
          code: 'VALID',
          at: '2030-01-02T03:04:05.678Z',
          assets: [{ id: 'a-1', type: 'asset' }],
        },
      },
    ]);
  });

  it('are all with from=0, and those after a cursor', async () => {
    const { source, stream } = await peer();
    for (let n = 0; n < 5; n += 1) source.commit();
    const all = await stream(`${PATH}&from=0`);
    await all.received(5);
    expect(blocks(all.events())).toEqual([0, 1, 2, 3, 4]);
    const rest = await stream(`${PATH}&from=${all.events()[2]?.id}`);
    await rest.received(2);
    expect(blocks(rest.events())).toEqual([3, 4]);
  });

  it('resume at Last-Event-ID, which counts more than the query of the first request', async () => {
    const { source, stream } = await peer();
    for (let n = 0; n < 3; n += 1) source.commit();
    const first = await stream(`${PATH}&from=0`);
    await first.received(3);
    first.leave();
    source.commit();
    const again = await stream(`${PATH}&from=0`, { headers: { 'Last-Event-ID': first.lastId()! } });
    await again.received(1);
    expect(blocks(again.events())).toEqual([3]);
  });

  it('resume where a client waited that had no message yet', async () => {
    const { source, stream } = await peer();
    source.commit();
    const client = await stream();
    await until(async () => client.lastId() !== undefined);
    client.leave();
    source.commit();
    const again = await stream(PATH, { headers: { 'Last-Event-ID': client.lastId()! } });
    await again.received(1);
    expect(blocks(again.events())).toEqual([1]);
  });

  it('move the place to resume with heartbeats, over events that are not for the client', async () => {
    const { source, stream, fire } = await peer();
    const client = await stream(`${PATH}&type=asset`);
    source.commit({ assets: [{ id: 'x', type: 'asset.other' }] });
    await until(async () => source.reads.length > 0);
    fire(10_000);
    const cursor = makeEventCursor('acme.main', { block: 0, index: 0 });
    await until(async () => client.lastId() === cursor);
    expect(client.events()).toEqual([]);
  });

  it('have what a contract emitted with its numbers as they were', async () => {
    const { source, stream } = await peer();
    const client = await stream();
    source.commit({ kind: 'contract', name: 'Moved', payload: '{"n":9007199254740993}' });
    source.commit({ kind: 'contract', name: 'Empty' });
    await client.received(2);
    expect(client.events()[0]).toMatchObject({ event: 'contract', data: { name: 'Moved' } });
    expect(client.events()[0]?.data).not.toHaveProperty('assets');
    expect(client.events()[1]?.data).not.toHaveProperty('payload');
  });

  it('wait while the ledger is away, and then go on where they were', async () => {
    const { source, stream, fire, problems, pass, streams } = await peer();
    const client = await stream();
    source.isAway = true;
    source.commit();
    await until(async () => problems.length === 1);
    pass(3000);
    expect(streams.lag).toEqual({ blocks: 1, seconds: 3 });
    fire(250);
    source.isAway = false;
    await until(async () => {
      fire(500);
      return client.events().length === 1;
    });
    expect(streams.lag).toEqual({ blocks: 0, seconds: 0 });
    expect(problems).toHaveLength(1);
  });

  it('end after ten minutes, and at the next heartbeat once the key is no longer configured', async () => {
    const { stream, fire, revoke, streams } = await peer();
    const first = await stream();
    fire(600_000);
    await first.ended();
    const second = await stream();
    revoke();
    fire(10_000);
    await second.ended();
    expect(streams.size).toBe(0);
  });

  it('leave nothing behind when the client leaves', async () => {
    const { stream, streams, source, timers } = await peer();
    const client = await stream();
    expect([streams.size, source.followers]).toEqual([1, 1]);
    client.leave();
    await until(async () => streams.size === 0);
    expect([source.followers, timers.size]).toEqual([0, 0]);
  });

  it('end when the process stops', async () => {
    const { stream, streams } = await peer();
    const client = await stream();
    streams.close();
    await client.ended();
  });

  it('are refused beyond two streams a key and the places of the process, until one ends', async () => {
    const { stream, ask, other, streams } = await peer();
    const [first] = [await stream(), await stream()];
    const response = await ask(PATH);
    expectProblem(response, 'RATE_LIMITED');
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    await stream(PATH, { key: other });
    expectProblem(await ask(PATH, other), 'RATE_LIMITED');
    first.leave();
    await until(async () => streams.size === 2);
    await stream();
  });

  it('answer HEAD with the headers and take no place', async () => {
    const { head, streams } = await peer();
    const response = await head(PATH);
    expect([response.status, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(streams.size).toBe(0);
  });

  it('are refused with the place of the fault', async () => {
    const { ask, source, streams } = await peer();
    const cursorOf = (channel: string, block: number) => makeEventCursor(channel, { block, index: 0 });
    source.commit();
    for (const from of ['', '1', 'x', cursorOf('acme.other', 0), cursorOf('acme.main', 1)]) {
      const response = await ask(`${PATH}&from=${from}`);
      expectProblem(response, 'INVALID_CURSOR');
      expect(response.body).toMatchObject({ errors: [{ in: 'query', pointer: '/from' }] });
    }
    const response = await ask(PATH).set('Last-Event-ID', cursorOf('acme.other', 0));
    expectProblem(response, 'INVALID_CURSOR');
    expect(response.body).toMatchObject({ errors: [{ in: 'header', pointer: '/Last-Event-ID' }] });
    expectProblem(await ask('/api/events'), 'INVALID_REQUEST');
    expectProblem(await ask(`${PATH}&limit=1`), 'UNKNOWN_PARAMETER');
    expectProblem(await ask('/api/events?channel=acme.other'), 'UNKNOWN_CHANNEL');
    expectProblem(await ask(`${PATH}&type=nothing`), 'UNKNOWN_CHAINCODE');
    expectProblem(await ask(PATH, 'n'.repeat(32)), 'UNAUTHENTICATED');
    source.isAway = true;
    expectProblem(await ask(PATH), 'LEDGER_UNAVAILABLE');
    expect([streams.size, source.followers]).toEqual([0, 0]);
  });
});
