import { afterEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { expectProblem, until } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import { connect, type Socket } from 'node:net';
import supertest from 'supertest';
import {
  listen,
  parseAnswer,
  plain,
  sendRaw,
  testRoute,
  testSurface,
  type ListeningSurface,
} from '../test/test-surface.ts';
import type { AuthRequest, PrefetchBody } from './index.ts';
import { closedObject } from './schemas.ts';

const base = {
  ...plain,
  method: 'post',
  permit: 'things:read',
  body: closedObject({ name: Type.String() }),
  inspect: (body: unknown) => {
    if ('secret' in (body as object)) throw new AppError('VAULT_BYTES_NOT_ALLOWED', 'No secrets.');
  },
  errors: ['VAULT_BYTES_NOT_ALLOWED'],
} as const;

/** Knows the keys `good` and `new`, and expects only the first; a refusal takes as long as `hold`. */
function surface({ hold = Promise.resolve() }: { readonly hold?: Promise<void> } = {}) {
  const seen: { readonly value: unknown; readonly readAtMs: number }[] = [];
  const prefetch = async (request: AuthRequest, { value, readAtMs }: PrefetchBody) => {
    const [key] = request.header('x-api-key');
    const named = (value as { name?: unknown } | undefined)?.name;
    seen.push({ value: named, readAtMs });
    if (key !== 'good' && key !== 'new') {
      await hold;
      throw new AppError('UNAUTHENTICATED', 'No.');
    }
    return { caller: { name: key, permissions: ['things:read'] }, prefetched: { named } };
  };
  const small = testRoute({
    ...base,
    path: '/ahead',
    bodyMaxBytes: 64,
    prefetch,
    handler: async ({ prefetched }) => ({ status: 200, body: { name: prefetched.named } }),
  });
  const large = testRoute({
    ...base,
    operationId: 'large',
    path: '/large',
    bodyMaxBytes: 262_144,
    bodyTerms: () => ({ timeoutMs: 200 }),
    prefetch,
    handler: async ({ body }) => ({ status: 200, body: { length: body.name.length } }),
  });
  const made = testSurface([small, large], {
    guardChanges: { isExpected: (request) => request.header('x-api-key')[0] === 'good' },
  });
  return { ...made, seen };
}

describe('a route with prefetch', () => {
  it('looks the key up with what the body names and when it was read, and passes the data to the handler', async () => {
    const { app, seen, asked, clock } = surface();
    const answer = await supertest(app).post('/ahead').set('x-api-key', 'good').send({ name: 'a' });
    expect(answer.body).toEqual({ name: 'a' });
    expect(seen).toEqual([{ value: 'a', readAtMs: clock.now() }]);
    expect(asked).toEqual(['permits things:read']);
  });

  it.each([
    ['broken JSON', 'application/json', '{', 'INVALID_JSON'],
    ['a body too large', 'application/json', `{"name":"${'x'.repeat(100)}"}`, 'PAYLOAD_TOO_LARGE'],
    ['another media type', 'text/plain', '{}', 'UNSUPPORTED_MEDIA_TYPE'],
  ])('reports a fault of the body after authentication: %s', async (_, type, body, code) => {
    const { app, seen } = surface();
    const send = (key: string) =>
      supertest(app).post('/ahead').set('x-api-key', key).set('content-type', type).send(body);
    expectProblem(await send('bad'), 'UNAUTHENTICATED');
    expectProblem(await send('good'), code);
    expectProblem(await send('new'), code);
    expect(seen).toMatchObject([{ value: undefined }, { value: undefined }, { value: undefined }]);
  });

  it('calls inspect before the shape is checked', async () => {
    const { app } = surface();
    const send = (body: object) => supertest(app).post('/ahead').set('x-api-key', 'good').send(body);
    expectProblem(await send({ secret: 1, other: 2 }), 'VAULT_BYTES_NOT_ALLOWED');
    expectProblem(await send({ other: 2 }), 'INVALID_REQUEST');
  });
});

describe('the body of a route with prefetch', () => {
  let listening: ListeningSurface | undefined;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listening?.close();
  });
  const head = (key: string, length: number) =>
    `POST /large HTTP/1.1\r\nHost: t\r\nConnection: close\r\nX-Api-Key: ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const bodyOf = (bytes: number) => `{"name":"${'x'.repeat(bytes - 11)}"}`;

  it('is not parsed before an unexpected key is known, then passed to prefetch', async () => {
    const { app, seen, clock } = surface();
    listening = await listen(app);
    const text = await sendRaw(listening.port, `${head('new', 13)}{"name":"ab"}`);
    expect(parseAnswer(text).body).toEqual({ length: 2 });
    const readAtMs = clock.now();
    expect(seen).toEqual([
      { value: undefined, readAtMs },
      { value: 'ab', readAtMs },
    ]);
  });

  it('is read before authentication where the key is expected and it came with its headers', async () => {
    const { app, seen } = surface();
    listening = await listen(app);
    const text = await sendRaw(listening.port, head('good', 16_384) + bodyOf(16_384));
    expect(parseAnswer(text).body).toEqual({ length: 16_373 });
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['is larger than 16 KiB', 16_385, 0],
    ['is incomplete', 1000, 1],
  ])('is read after authentication where it %s, even from an expected key', async (_, bytes, missing) => {
    const { app, seen } = surface();
    listening = await listen(app);
    const body = bodyOf(bytes);
    const socket = connect(listening.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(head('good', bytes) + body.slice(0, bytes - missing));
    await until(() => seen.length > 0);
    socket.write(body.slice(bytes - missing));
    await closed;
    expect(parseAnswer(text).body).toEqual({ length: bytes - 11 });
    expect(seen).toMatchObject([{ value: undefined }, { value: 'x'.repeat(bytes - 11) }]);
  });

  it('stays in the kernel until the key is known, and is discarded for an invalid key', async () => {
    let release: () => void = () => undefined;
    const { app, seen } = surface({ hold: new Promise((resolve) => (release = resolve)) });
    listening = await listen(app);
    let read: Socket | undefined;
    listening.server.once('connection', (socket) => (read = socket));
    const socket = connect(listening.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    socket.write(head('none', 262_144));
    await until(() => seen.length > 0);
    socket.write(bodyOf(262_144));
    // Another connection sends the same amount and is answered meanwhile.
    await sendRaw(listening.port, head('good', 262_144) + bodyOf(262_144));
    expect(read?.bytesRead).toBeLessThan(1000);
    release();
    await until(() => text.includes('\r\n\r\n'));
    expectProblem(parseAnswer(text), 'UNAUTHENTICATED');
  });
});
