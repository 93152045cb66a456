import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import {
  listen,
  parseAnswer,
  plain,
  sendRaw,
  testRoute,
  testSurface,
  type ListeningSurface,
} from '../test/test-surface.ts';

const echo = testRoute({
  ...plain,
  method: 'post',
  path: '/echo',
  body: 'strict-json',
  bodyMaxBytes: 1000,
  handler: ({ rawBody }) => ({ status: 200, body: rawBody, contentType: 'application/json' }),
});

const hasty = testRoute({
  ...plain,
  operationId: 'hasty',
  method: 'post',
  path: '/hasty',
  body: 'strict-json',
  bodyMaxBytes: 1000,
  bodyTerms: () => ({ timeoutMs: 30 }),
  handler: () => ({ status: 200 }),
});

const head = (path: string, lines = '') =>
  `POST ${path} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 7\r\n${lines}\r\n`;

/** The timeouts of production, shortened. */
const SHORT = { headersTimeout: 60, requestTimeout: 120, connectionsCheckingInterval: 20 };

describe('slow clients', () => {
  let listening: ListeningSurface | undefined;
  afterEach(() => listening?.close());

  it('get a 408 problem for a late body, and their connection is closed', async () => {
    const surface = testSurface([echo]);
    listening = await listen(surface.app, SHORT);
    const answer = parseAnswer(await sendRaw(listening.port, `${head('/echo')}{"a"`));
    expectProblem(answer, 'REQUEST_TIMEOUT');
    expect(answer.headers['connection']).toBe('close');
    expect(surface.records).toMatchObject([{ status: 408, code: 'REQUEST_TIMEOUT', route: '/echo' }]);
  });

  it('get it sooner with a timeout of the route', async () => {
    listening = await listen(testSurface([hasty]).app);
    expectProblem(parseAnswer(await sendRaw(listening.port, `${head('/hasty')}{"a"`)), 'REQUEST_TIMEOUT');
  });

  it('get a bare 408 for late headers', async () => {
    listening = await listen(testSurface([echo]).app, SHORT);
    const answer = parseAnswer(await sendRaw(listening.port, 'POST /echo HTTP/1.1\r\nHost:'));
    expect(answer).toMatchObject({ status: 408, body: '', headers: { connection: 'close' } });
  });

  it('are disconnected when they never finish a refused body', async () => {
    listening = await listen(testSurface([echo]).app, SHORT);
    const text = await sendRaw(listening.port, `POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 7\r\n\r\n{`);
    expectProblem(parseAnswer(text), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('may send their body in pieces', async () => {
    listening = await listen(testSurface([echo]).app);
    const socket = await open(listening.port);
    socket.write(`${head('/echo', 'Connection: close\r\n')}{"a"`);
    await until(() => socket.bytesWritten > 0);
    socket.write(':1}');
    expect(parseAnswer(await everything(socket)).body).toEqual({ a: 1 });
  });
});

describe('clients that do not read', () => {
  const large = testRoute({
    ...plain,
    method: 'get',
    path: '/large',
    handler: () => ({ status: 200, body: Buffer.alloc(32 * 1_048_576, 'x'), contentType: 'text/plain' }),
  });

  it('are disconnected in the middle of a large answer', async () => {
    const listening = await listen(testSurface([large], { slowReaderMs: 50 }).app);
    const socket = await open(listening.port);
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: t\r\n\r\n');
    await until(async () => (await connections(listening)) === 1);
    await until(async () => (await connections(listening)) === 0);
    socket.destroy();
    await listening.close();
  });

  it('stay connected as long as they read a little now and then', async () => {
    const listening = await listen(testSurface([large]).app);
    const text = await sendRaw(listening.port, 'GET /large HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n');
    expect(text.length).toBeGreaterThan(32 * 1_048_576);
    await listening.close();
  });
});

describe('clients that disconnect', () => {
  it('in the middle of their body get no answer and are logged once', async () => {
    const surface = testSurface([echo]);
    const listening = await listen(surface.app);
    const socket = await open(listening.port);
    socket.write(`${head('/echo')}{"a"`);
    await until(async () => (await connections(listening)) === 1 && socket.bytesWritten > 0);
    socket.destroy();
    await until(() => surface.records.length > 0);
    expect(surface.records).toMatchObject([{ status: 499, route: '/echo' }]);
    expect(surface.lines).toEqual([]);
    await listening.close();
  });

  it('while their handler runs abort its signal', async () => {
    let signal: AbortSignal | undefined;
    const waiting = testRoute({
      ...plain,
      method: 'get',
      path: '/wait',
      handler: async (context) => {
        signal = context.signal;
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        return { status: 200 };
      },
    });
    const surface = testSurface([waiting]);
    const listening = await listen(surface.app);
    const socket = await open(listening.port);
    socket.write('GET /wait HTTP/1.1\r\nHost: t\r\n\r\n');
    await until(() => signal !== undefined);
    expect(signal?.aborted).toBe(false);
    socket.destroy();
    await until(() => surface.records.length > 0);
    expect(signal?.aborted).toBe(true);
    await listening.close();
  });
});

describe('clients that send Expect: 100-continue', () => {
  it('are asked for the body once it is wanted', async () => {
    const listening = await listen(testSurface([echo]).app);
    const socket = await open(listening.port);
    socket.write(head('/echo', 'Expect: 100-continue\r\nConnection: close\r\n'));
    const first = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{"a":1}');
    expect(parseAnswer(await everything(socket)).body).toEqual({ a: 1 });
    await listening.close();
  });

  it('are refused without sending it', async () => {
    const listening = await listen(testSurface([echo]).app);
    const refused = head('/echo', 'Expect: 100-continue\r\n').replace('application/json', 'text/plain');
    const text = await sendRaw(listening.port, refused);
    expect(text).not.toContain('100 Continue');
    expectProblem(parseAnswer(text), 'UNSUPPORTED_MEDIA_TYPE');
    await listening.close();
  });
});

describe('an app that drains', () => {
  it('closes every connection', async () => {
    const { app } = testSurface([echo]);
    const listening = await listen(app);
    app.drain();
    const answer = parseAnswer(await sendRaw(listening.port, `${head('/echo')}{"a":1}`));
    expect(answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await listening.close();
  });
});

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

function everything(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (data) => {
    text += String(data);
  });
  return new Promise((resolve) => socket.on('close', () => resolve(text)));
}

function connections({ server }: ListeningSurface): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}
