import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { eventStream, type EventStream } from './event-stream.ts';

let close = (): void => undefined;
afterEach(() => close());

/** A stream to a client, with timers that the test fires. */
async function begin({
  mostWaitingBytes = 1_000_000,
  httpAllowHalfOpen = false,
  lastId = (): string | undefined => undefined,
} = {}) {
  const timers = new Set<() => void>();
  const ended: string[] = [];
  let stream: EventStream | undefined;
  const server = createServer((_request, response) => {
    stream = eventStream(response, {
      startTimer(done) {
        timers.add(done);
        return () => timers.delete(done);
      },
      heartbeatMs: 10_000,
      mostWaitingBytes,
      lastId,
      onEnd: () => ended.push('end'),
    });
  });
  // Same setting as in the service host.
  Object.assign(server, { httpAllowHalfOpen });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => {
    server.close();
    server.closeAllConnections();
  };
  const { port } = server.address() as AddressInfo;
  const response = await new Promise<IncomingMessage>((resolve) => get({ port, host: '127.0.0.1' }, resolve));
  let text = '';
  const read = () => response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const beat = () => {
    for (const done of [...timers]) {
      timers.delete(done);
      done();
    }
  };
  return { stream: stream!, response, read, text: () => text, timers, beat, ended };
}

describe('a stream of server-sent events', () => {
  it('sends messages with ids, one data line each, and heartbeat comments', async () => {
    const { stream, response, read, text, beat } = await begin();
    read();
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    expect(stream.send({ event: 'event', id: 'e1', data: { a: 'line\nbreak' } })).toBe(true);
    expect(stream.send({ event: 'gap', data: {} })).toBe(true);
    beat();
    beat();
    const sent = ': begin\n\nid: e1\nevent: event\ndata: {"a":"line\\nbreak"}\n\nevent: gap\ndata: {}\n\n';
    await until(() => Promise.resolve(text() === `${sent}: alive\n\n: alive\n\n`));
  });

  it('ends with a last message, calls onEnd once, and sends nothing after it', async () => {
    const { stream, response, read, text, timers, ended } = await begin();
    read();
    const closed = new Promise((resolve) => response.once('end', resolve));
    stream.end({ event: 'end', data: { reason: 'r' } });
    stream.end();
    expect(stream.send({ event: 'event', data: {} })).toBe(false);
    await closed;
    expect(text()).toBe(': begin\n\nevent: end\ndata: {"reason":"r"}\n\n');
    expect([ended, timers.size]).toEqual([['end'], 0]);
  });

  it.each([true, false])('ends when the client disconnects, with httpAllowHalfOpen %s', async (httpAllowHalfOpen) => {
    const { response, timers, ended } = await begin({ httpAllowHalfOpen });
    response.destroy();
    await until(() => Promise.resolve(ended.length === 1));
    expect(timers.size).toBe(0);
  });

  it('bounds the buffer for a slow client, and continues once it reads', async () => {
    const { stream, read } = await begin({ mostWaitingBytes: 1000 });
    const data = { text: 'x'.repeat(100_000) };
    let sent = 0;
    while (stream.send({ event: 'event', data })) sent += 1;
    // Plus the socket buffers.
    expect(sent).toBeLessThan(200);
    read();
    await until(() => Promise.resolve(stream.send({ event: 'gap', data: {} })));
  });

  it('tells the client where to resume, although there are no messages', async () => {
    let id: string | undefined = 'here';
    const { read, text, beat } = await begin({ lastId: () => id });
    read();
    id = 'further';
    beat();
    id = undefined;
    beat();
    const sent = ': begin\nid: here\n\n: alive\nid: further\n\n: alive\n\n';
    await until(() => Promise.resolve(text() === sent));
  });

  it('sends texts as they are', async () => {
    const { stream, read, text } = await begin();
    read();
    stream.send({ event: 'commit', data: '{"n":9007199254740993}' });
    await until(() => Promise.resolve(text().endsWith('event: commit\ndata: {"n":9007199254740993}\n\n')));
  });

  it('waits for a slow client, so that nothing need be dropped, until it reads or leaves', async () => {
    const { stream, read, response } = await begin({ mostWaitingBytes: 1000 });
    const data = { text: 'x'.repeat(100_000) };
    const turns = async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    // Until the buffers of the sockets are full, too.
    const fill = async () => {
      while (stream.send({ event: 'event', data })) await turns();
    };
    await stream.ready();
    await fill();
    let isReady = false;
    const ready = stream.ready().then(() => (isReady = true));
    await turns();
    expect(isReady).toBe(false);
    read();
    await ready;
    response.pause();
    await fill();
    const left = stream.ready();
    response.destroy();
    await left;
    await stream.ready();
  });
});
