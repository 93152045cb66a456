import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import {
  listen,
  parseAnswer,
  plain,
  sendRaw,
  testRoute,
  testSurface,
  type ListeningSurface,
} from '../test/test-surface.ts';

let calls = 0;
let largeCalls = 0;

/** Echoes the request after a short delay. */
const echo = testRoute({
  ...plain,
  method: 'post',
  path: '/echo',
  body: 'strict-json',
  bodyMaxBytes: 1000,
  handler: async ({ rawBody }) => {
    calls += 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { status: 200, body: rawBody, contentType: 'application/json' };
  },
});

/** Answered when a test releases it. */
let held = Promise.resolve();
const HELD = 'GET /held HTTP/1.1\r\nHost:t\r\n\r\n';
const heldRoute = testRoute({
  ...plain,
  operationId: 'held',
  method: 'get',
  path: '/held',
  handler: async () => {
    calls += 1;
    await held;
    return { status: 200, body: 'h', contentType: 'text/plain' };
  },
});

/** Answered at once, without waiting for anything. */
let callsByTurn: number[] = [];
const QUICK = 'GET /quick HTTP/1.1\r\nHost:t\r\n\r\n';
const quick = testRoute({
  ...plain,
  operationId: 'quick',
  method: 'get',
  path: '/quick',
  handler: () => {
    callsByTurn[callsByTurn.length - 1]! += 1;
    return { status: 200, body: 'q', contentType: 'text/plain' };
  },
});

const LARGE_REQUEST = 'GET /large HTTP/1.1\r\nHost: t\r\n\r\n';
const LARGE = Buffer.alloc(1_048_576, 'x');
const large = testRoute({
  ...plain,
  operationId: 'large',
  method: 'get',
  path: '/large',
  handler: () => {
    largeCalls += 1;
    return { status: 200, body: LARGE, contentType: 'text/plain' };
  },
});

const post = (body: string, lines = '') =>
  `POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${lines}\r\n${body}`;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a client that pipelines', () => {
  let listening: ListeningSurface;
  const sockets: Socket[] = [];
  const start = async (slowReaderMs?: number) => {
    [calls, largeCalls] = [0, 0];
    held = Promise.resolve();
    listening = await listen(
      testSurface([echo, heldRoute, quick, large], slowReaderMs === undefined ? {} : { slowReaderMs }).app,
    );
  };
  const open = async (): Promise<Socket> => {
    const socket = connect(listening.port, '127.0.0.1');
    sockets.push(socket);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    // The server may close it at any time.
    return socket.on('error', () => undefined);
  };
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listening.close();
  });

  it('is answered in order, with up to sixty-four requests at once', async () => {
    await start();
    const text = numbers(64)
      .map((number) => post(String(number), number === 63 ? 'Connection: close\r\n' : ''))
      .join('');
    const bodies = (await sendRaw(listening.port, text))
      .split('HTTP/1.1 200 OK')
      .slice(1)
      .map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4));
    expect(bodies).toEqual(numbers(64).map(String));
  });

  it('is served a few requests in a turn of the event loop: others are served in between', async () => {
    await start();
    callsByTurn = [0];
    let isOver = false;
    const countTurns = () => {
      callsByTurn.push(0);
      if (!isOver) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const answers = numbers(3).map(async () => {
      const socket = await open();
      let text = '';
      socket.on('data', (data) => (text += String(data)));
      socket.write(QUICK.repeat(60));
      await until(() => text.split('HTTP/1.1 200 OK').length === 61);
    });
    await Promise.all(answers);
    isOver = true;
    expect(callsByTurn.reduce((sum, calls) => sum + calls, 0)).toBe(180);
    // Of each connection four, once where they are read and once where those that waited are served.
    expect(Math.max(...callsByTurn)).toBeLessThanOrEqual(24);
  });

  it('may send any number of requests in one connection, sixty-four ahead of the answers it has read', async () => {
    await start();
    const socket = await open();
    let sent = 0;
    let text = '';
    const answers = () => text.split('HTTP/1.1 200 OK').length - 1;
    const send = () => {
      while (sent < Math.min(400, answers() + 64)) socket.write(post(String(sent++)));
    };
    socket.on('data', (data) => {
      text += String(data);
      send();
    });
    send();
    await until(() => text.endsWith('399'));
    expect(answers()).toBe(400);
    expect(socket.destroyed).toBe(false);
  });

  it('is disconnected with more than sixty-four unread answers, however many requests it sends at once', async () => {
    await start();
    const [gate, open_] = barrier();
    held = gate;
    const allowed = await open();
    allowed.write(HELD.repeat(64));
    await until(() => calls === 64);
    const excess = await open();
    let parsed = 0;
    listening.server.on('request', () => (parsed += 1));
    excess.write(HELD.repeat(3000));
    await until(() => connections(listening).then((count) => count === 1));
    expect([calls, parsed]).toEqual([68, 65]);
    const answered = new Promise((resolve) => allowed.once('data', (data) => resolve(String(data))));
    open_();
    expect(await answered).toMatch(/^HTTP\/1.1 200/);
  });

  it('may send the last body in pieces and half-close', async () => {
    await start();
    // Same as the service host; see `listener.ts` there.
    Object.assign(listening.server, { httpAllowHalfOpen: true });
    const socket = await open();
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    const last = post('[1,2]');
    socket.write(
      numbers(40)
        .map((number) => post(String(number)))
        .join('') + last.slice(0, -3),
    );
    await until(() => calls >= 40);
    socket.end(last.slice(-3));
    await new Promise((resolve) => socket.on('close', resolve));
    expect(text.split('HTTP/1.1 200 OK')).toHaveLength(42);
    expect(text.endsWith('[1,2]')).toBe(true);
  });

  it('is not read from while it does not read, and is disconnected after a timeout', async () => {
    await start(1000);
    const socket = await open();
    socket.pause();
    for (let round = 1; round <= 2; round += 1) {
      socket.write(LARGE_REQUEST.repeat(16));
      await until(() => largeCalls >= 16 * round);
    }
    // The answers fill the buffers by now.
    socket.write(LARGE_REQUEST.repeat(16));
    const other = await sendRaw(listening.port, post('1', 'Connection: close\r\n'));
    expect(parseAnswer(other).status).toBe(200);
    await until(() => connections(listening).then((count) => count === 0));
    expect(largeCalls).toBe(32);
  });

  it('closes each of its responses where it leaves, also those whose turn never came', async () => {
    await start();
    const [gate, open_] = barrier();
    held = gate;
    const closed: number[] = [];
    listening.server.prependListener('request', (_, response) => {
      const number = calls;
      response.on('close', () => closed.push(number));
    });
    const socket = await open();
    socket.write(HELD.repeat(5));
    await until(() => calls === 5);
    socket.destroy();
    await until(() => closed.length >= 5);
    open_();
    expect(closed.sort()).toEqual([0, 1, 2, 3, 4]);
    expect(parseAnswer(await sendRaw(listening.port, post('1', 'Connection: close\r\n'))).status).toBe(200);
    expect(closed).toHaveLength(6);
  });

  it('is refused a CONNECT and disconnected, whatever follows it', async () => {
    await start();
    const connectText = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n';
    for (const before of [0, 50]) {
      const text = await sendRaw(listening.port, HELD.repeat(before) + connectText + HELD.repeat(3000));
      expect(text.split('HTTP/1.1 405 Method Not Allowed')).toHaveLength(2);
      expect(calls).toBeLessThanOrEqual(before);
      calls = 0;
    }
  });

  it('that sends no Host is refused once, with the common headers', async () => {
    await start();
    const text = await sendRaw(listening.port, 'GET /large HTTP/1.1\r\n\r\n'.repeat(60));
    const refusals = text.split('HTTP/1.1 400 Bad Request');
    expect(refusals).toHaveLength(2);
    expect(parseAnswer(text)).toMatchObject({ status: 400, headers: { 'x-content-type-options': 'nosniff' } });
    expect(largeCalls).toBe(0);
    // HTTP/1.0 has no Host.
    expect(parseAnswer(await sendRaw(listening.port, 'GET /large HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});

function connections({ server }: ListeningSurface): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}

function barrier(): [wait: Promise<void>, open: () => void] {
  const { promise, resolve } = Promise.withResolvers<void>();
  return [promise, resolve];
}
