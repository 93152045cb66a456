import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { expectProblem } from '@sealgate/testing';
import { listen, plain, sendRaw, sendRequest, parseAnswer, testRoute, testSurface } from '../test/test-surface.ts';
import { closedObject } from './index.ts';

const MAX_BYTES = 4096;

const echo = testRoute({
  ...plain,
  method: 'post',
  path: '/echo',
  body: 'strict-json',
  bodyMaxBytes: MAX_BYTES,
  handler: ({ rawBody }) => ({ status: 200, body: rawBody, contentType: 'application/json' }),
});

const suffixed = testRoute({
  ...echo,
  operationId: 'suffixed',
  path: '/suffixed',
  mediaTypes: ['application/json', '+json'],
});

const optional = testRoute({
  ...plain,
  operationId: 'optional',
  method: 'post',
  path: '/optional',
  body: closedObject({ reason: Type.Optional(Type.String()) }),
  bodyMaxBytes: MAX_BYTES,
  bodyOptional: true,
  handler: ({ body }) => ({ status: 200, body }),
});

const bodiless = testRoute({
  ...plain,
  operationId: 'bodiless',
  method: 'delete',
  path: '/echo',
  handler: ({ rawBody }) => ({ status: 200, body: { length: rawBody.length } }),
});

const unparsed = testRoute({
  ...plain,
  operationId: 'unparsed',
  method: 'post',
  path: '/unparsed',
  body: 'json-bytes',
  bodyMaxBytes: MAX_BYTES,
  handler: ({ body, rawBody }) => ({ status: 200, body: { body: body ?? null, text: rawBody.toString('utf8') } }),
});

const { app } = testSurface([echo, suffixed, optional, bodiless, unparsed]);
const send = (body: string | Buffer, headers: Record<string, string> = {}, path = '/echo') => {
  const call = request(app)
    .post(path)
    .set({ 'Content-Type': 'application/json', ...headers });
  // Superagent would serialize a Buffer as JSON.
  return call.serialize((bytes: unknown) => bytes as string).send(body);
};

/** A JSON string of exactly this many bytes. */
const jsonOf = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

describe('the media type of a body', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json ; profile=x;charset=utf-8 ',
    'application/json;',
    'application/json; charset=utf8',
    'application/json;charset="UTF8"',
  ])('may be %s', async (type) => {
    expect((await send('{"a":1}', { 'Content-Type': type })).status).toBe(200);
  });

  it.each([
    'text/json',
    'application/vnd.api+json',
    'application/json5',
    'application/json; charset=latin1',
    'application/json; charset=utf--8',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json, application/json',
    'application/json charset=utf-8',
    'application/x-www-form-urlencoded',
  ])('is 415 as %s', async (type) => {
    expectProblem(await send('{"a":1}', { 'Content-Type': type }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each([
    'application/cloudevents+json',
    'Application/Vnd.Api+JSON; charset=utf-8',
    'application/problem+json;profile="+xml"',
    'application/json',
  ])('may be %s where +json types are accepted', async (type) => {
    expect((await send('{"a":1}', { 'Content-Type': type }, '/suffixed')).status).toBe(200);
  });

  it.each([
    'application/cloudevents+json; charset=utf-16',
    'application/cloudevents+xml',
    'application/+json',
    'application/cloudevents+json+xml',
    'application/xml; type=a+json',
    'application/json5',
    'text/json',
  ])('is 415 there as %s', async (type) => {
    expectProblem(await send('{"a":1}', { 'Content-Type': type }, '/suffixed'), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is 415 when it is missing', async () => {
    const listening = await listen(app);
    const answer = await sendRequest(listening.port, ['POST /echo HTTP/1.1', 'Content-Length: 2'], '{}');
    expectProblem(answer, 'UNSUPPORTED_MEDIA_TYPE');
    await listening.close();
  });
});

describe('the content coding of a body', () => {
  const text = `{"a":"${'ä'.repeat(100)}"}`;

  it.each([
    ['gzip', gzipSync(text)],
    ['GZip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['Identity', Buffer.from(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
  ])('%s is decoded', async (coding, bytes) => {
    const response = await send(bytes, { 'Content-Encoding': coding });
    expect(response.status).toBe(200);
    expect(response.text).toBe(text);
  });

  it.each(['gzip, gzip', 'identity, gzip', 'compress', 'x-compress', 'zstd', 'toString', ''])(
    'is 415 as "%s"',
    async (coding) => {
      const response = await send(gzipSync(text), { 'Content-Encoding': coding });
      expectProblem(response, 'UNSUPPORTED_MEDIA_TYPE');
      expect(response.headers['accept-encoding']).toBe('gzip, deflate, br');
    },
  );

  it.each(['gzip', 'deflate', 'br'])('is 400 when the bytes are not %s', async (coding) => {
    expectProblem(await send(text, { 'Content-Encoding': coding }), 'INVALID_JSON');
    expectProblem(await send(gzipSync(text).subarray(0, 20), { 'Content-Encoding': coding }), 'INVALID_JSON');
  });

  it('does not affect the limit, which counts decoded bytes', async () => {
    for (const pack of [gzipSync, deflateSync, brotliCompressSync]) {
      const coding = pack === gzipSync ? 'gzip' : pack === deflateSync ? 'deflate' : 'br';
      expect((await send(pack(jsonOf(MAX_BYTES)), { 'Content-Encoding': coding })).status).toBe(200);
      expectProblem(await send(pack(jsonOf(MAX_BYTES + 1)), { 'Content-Encoding': coding }), 'PAYLOAD_TOO_LARGE');
    }
  });

  it('stops a decompression bomb at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(3_000_000, ' '));
    expect(bomb.length).toBeLessThan(MAX_BYTES);
    expectProblem(await send(bomb, { 'Content-Encoding': 'gzip' }), 'PAYLOAD_TOO_LARGE');
  });

  it('accepts a body that grew by encoding', async () => {
    const bytes = gzipSync(jsonOf(MAX_BYTES), { level: 0 });
    expect(bytes.length).toBeGreaterThan(MAX_BYTES);
    expect((await send(bytes, { 'Content-Encoding': 'gzip' })).status).toBe(200);
    expectProblem(await send(Buffer.alloc(6000), { 'Content-Encoding': 'gzip' }), 'PAYLOAD_TOO_LARGE');
  });

  it('treats an encoded empty body as empty', async () => {
    expectProblem(await send('', { 'Content-Encoding': 'gzip' }), 'INVALID_JSON');
  });
});

describe('the size of a body', () => {
  it('may be exactly the limit, but no more', async () => {
    expect((await send(jsonOf(MAX_BYTES))).status).toBe(200);
    expectProblem(await send(jsonOf(MAX_BYTES + 1)), 'PAYLOAD_TOO_LARGE');
  });

  it('is counted while it arrives if it was not announced', async () => {
    const listening = await listen(app);
    const chunked = (body: string) =>
      sendRequest(
        listening.port,
        ['POST /echo HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
        `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      );
    expect((await chunked(jsonOf(MAX_BYTES))).status).toBe(200);
    expectProblem(await chunked(jsonOf(MAX_BYTES + 1)), 'PAYLOAD_TOO_LARGE');
    expectProblem(await chunked(jsonOf(200_000)), 'PAYLOAD_TOO_LARGE');
    await listening.close();
  });

  it('lets a refused sender read its refusal and reuse the connection', async () => {
    const listening = await listen(app);
    const large = jsonOf(3_000_000);
    const text = await sendRaw(
      listening.port,
      `POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n${large}` +
        'DELETE /echo HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n',
    );
    expectProblem(parseAnswer(text.slice(0, text.lastIndexOf('HTTP/1.1'))), 'PAYLOAD_TOO_LARGE');
    expect(parseAnswer(text.slice(text.lastIndexOf('HTTP/1.1'))).body).toEqual({ length: 0 });
    await listening.close();
  });

  it('closes the connection of a refused sender that never stops', async () => {
    const listening = await listen(app);
    const head = 'POST /echo HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 90000000\r\n\r\n';
    const outcome = await sendRaw(listening.port, head + 'x'.repeat(40_000_000)).catch((error: Error) => error.message);
    // The connection is closed midway, so the sender may miss the answer; it only matters that this returns.
    expect(outcome).toMatch(/413|ECONNRESET|EPIPE/);
    await listening.close();
  });
});

describe('an empty body', () => {
  it('is 400 where a body is required', async () => {
    expectProblem(await send(''), 'INVALID_JSON', { errors: [{ in: 'body', pointer: '' }] });
  });

  it('is an empty object where the body is optional, without a media type', async () => {
    expect((await request(app).post('/optional')).body).toEqual({});
    expect((await request(app).post('/optional').set('Content-Type', 'text/plain')).status).toBe(200);
    expect((await request(app).post('/optional').send({})).body).toEqual({});
    expect((await request(app).post('/optional').send({ reason: 'x' })).body).toEqual({ reason: 'x' });
    expectProblem(await request(app).post('/optional').send({ cause: 'x' }), 'INVALID_REQUEST');
    expectProblem(await request(app).post('/optional').type('text/plain').send('x'), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('is also recognized when chunked', async () => {
    const listening = await listen(app);
    const sendChunks = (...lines: string[]) =>
      sendRequest(listening.port, ['POST /optional HTTP/1.1', 'Transfer-Encoding: chunked'], lines.join('\r\n'));
    expect(await sendChunks('0', '', '')).toMatchObject({ status: 200, body: {} });
    const refused = await sendChunks('1', 'x', '0', '', '');
    expect(refused).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    const large = await sendChunks('1001', 'x'.repeat(MAX_BYTES + 1), '0', '', '');
    expect(large).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    await listening.close();
  });
});

describe('strict JSON', () => {
  it('reports code and location of a fault', async () => {
    expectProblem(await send('{"a":1,"a":2}'), 'DUPLICATE_MEMBER', { errors: [{ in: 'body', pointer: '/a' }] });
    expectProblem(await send('[9007199254740993]'), 'UNSAFE_NUMBER', { errors: [{ in: 'body', pointer: '/0' }] });
    expectProblem(await send('['.repeat(65) + ']'.repeat(65)), 'JSON_TOO_DEEP');
    expectProblem(await send('\ufeff{}'), 'INVALID_JSON');
  });
});

describe('bodies of GET and DELETE', () => {
  it('are not read', async () => {
    const response = await request(app)
      .delete('/echo')
      .type('text/plain')
      .send('x'.repeat(MAX_BYTES * 3));
    expect(response.body).toEqual({ length: 0 });
  });
});

describe('a body whose handler parses it', () => {
  const sendUnparsed = (text: string, headers: Record<string, string> = {}) =>
    request(app)
      .post('/unparsed')
      .set({ 'Content-Type': 'application/json', ...headers })
      .serialize((bytes: unknown) => bytes as string)
      .send(text);

  it('is passed as decoded bytes, whether they are JSON or not', async () => {
    expect((await sendUnparsed('{"a":')).body).toEqual({ body: null, text: '{"a":' });
    const zipped = gzipSync('[1,2') as unknown as string;
    expect((await sendUnparsed(zipped, { 'Content-Encoding': 'gzip' })).body).toEqual({ body: null, text: '[1,2' });
  });

  it('is refused by media type, size and emptiness like any other', async () => {
    expectProblem(await sendUnparsed('{}', { 'Content-Type': 'text/json' }), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await sendUnparsed(jsonOf(MAX_BYTES + 1)), 'PAYLOAD_TOO_LARGE');
    const empty = await sendUnparsed('');
    expectProblem(empty, 'INVALID_JSON');
    expect(empty.body.errors).toEqual((await send('')).body.errors);
  });
});

describe('a route with a body limit per caller', () => {
  const route = testRoute({
    ...plain,
    method: 'post',
    path: '/by-caller',
    permit: 'authenticated',
    body: 'strict-json',
    bodyMaxBytes: MAX_BYTES,
    bodyTerms: ({ caller }) => (caller.name === 'poor' ? { maxBytes: 10 } : {}),
    handler: () => ({ status: 200 }),
  });
  it('refuses a body too large for its caller', async () => {
    const { app: surface } = testSurface([route]);
    const headers = (key: string) => ({ 'Content-Type': 'application/json', 'X-Api-Key': key });
    const post = (key: string, body: string) => request(surface).post('/by-caller').set(headers(key)).send(body);
    expect((await post('poor', jsonOf(10))).status).toBe(200);
    expectProblem(await post('poor', jsonOf(11)), 'PAYLOAD_TOO_LARGE');
    expect((await post('good', jsonOf(MAX_BYTES))).status).toBe(200);
  });
});
