import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectCommonHeaders, expectWritten } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { rawExchange } from './harness/http-exchange.ts';
import { boundMs } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';

const mebibyte = 1_048_576;

describe('Bodies', () => {
  let setup: ContractSetup;
  let networkId: string;
  let rawKey: string;
  let from: Sender;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork();
    ({ rawKey } = await setup.newKey(networkId));
    from = sender(setup.gateway.public, networkId, rawKey);
  });
  afterAll(() => setup.stop());

  const at = (pointer: string): { errors: { in: 'body'; pointer: string }[] } => ({
    errors: [{ in: 'body', pointer }],
  });
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const bytes = (...parts: (string | number[])[]): Buffer =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

  // One of each code: libs/json and libs/http have every fault.
  it.each([
    ['INVALID_JSON', '', ''],
    ['INVALID_JSON', bytes('{"a":"', [0xff], '"}'), ''],
    ['INVALID_JSON', '{"a":{"__proto__":{}}}', '/a/__proto__'],
    ['DUPLICATE_MEMBER', '{"assets":[{"x":{"b/c":1,"d":2,"b\\u002fc":3}}]}', '/assets/0/x/b~1c'],
    ['UNSAFE_NUMBER', '{"data":{"n":[0,1e400]}}', '/data/n/1'],
  ])('are refused as %s, pointing at the fault: %j', async (code, body, pointer) => {
    expectProblem(await from.post(body), code, at(pointer));
  });

  it('may contain numbers that a double represents exactly, which are kept', async () => {
    const numbers = ['0.1', '1.10', '1E2', '-0', '9007199254740992', '1e21', '1E30', '333333333.33333329', '5e-324'];
    const all = [...numbers, '1.7976931348623157e308'];
    const [record] = expectWritten(await from.post(`{"data":{"n":[${all.join(',')}]}}`)).records;
    const row = await setup.admin.ask('GET', `/ledger/channels/${networkId}.main/records/${record!.id}`);
    expect(row['data']).toEqual({ n: all.map((number) => Number(number) + 0) });
  });

  it('have the same content in any spelling of a number', async () => {
    const receipts = [];
    for (const number of ['333333333.33333329', '333333333.3333333', '3333333333333333e-7', '333333333.33333330']) {
      receipts.push(expectWritten(await from.post(`{"id":"one-number","n":${number}}`)).records[0]!);
    }
    expect(receipts.map(({ existing }) => existing)).toEqual([undefined, true, true, true]);
    expect(new Set(receipts.map(({ leafHash }) => leafHash)).size).toBe(1);
    expectProblem(await from.post('{"id":"one-number","n":333333333.3333332}'), 'RECORD_CONFLICT');
  });

  it('may be 64 levels deep, and no deeper', async () => {
    expectWritten(await from.post(nested(64)));
    expectProblem(await from.post(nested(65)), 'JSON_TOO_DEEP', at('/0'.repeat(64)));
    expectProblem(await from.post(`{"a":${nested(64)}}`), 'JSON_TOO_DEEP', at(`/a${'/0'.repeat(63)}`));
  });

  it.each([
    ['[', 500_000],
    ['{"a":', 200_000],
    ['[{"a":', 160_000],
  ])('of half a million brackets are refused immediately: %s', async (part, count) => {
    const before = setup.gateway.pid;
    expectProblem(await from.post(part.repeat(count)), 'JSON_TOO_DEEP');
    const { durationMs } = await from.post(part.repeat(count));
    expect(durationMs).toBeLessThan(boundMs(100));
    expect({ pid: setup.gateway.pid, isRunning: setup.gateway.isRunning }).toEqual({ pid: before, isRunning: true });
    expectWritten(await from.post({}));
  });

  it('may have exactly the documented size, and not one byte more', async () => {
    const body = (size: number): string => `{"data":{"x":"${'x'.repeat(size - 17)}"}}`;
    expect(body(mebibyte)).toHaveLength(mebibyte);
    expectWritten(await from.post(body(mebibyte)));
    expectProblem(await from.post(body(mebibyte + 1)), 'PAYLOAD_TOO_LARGE');
    expectWritten(await from.post(gzipSync(body(mebibyte)), { headers: { 'Content-Encoding': 'gzip' } }));
    const bomb = gzipSync(Buffer.alloc(64 * mebibyte, ' '));
    expectProblem(await from.post(bomb, { headers: { 'Content-Encoding': 'gzip' } }), 'PAYLOAD_TOO_LARGE');
  });

  it('may be compressed by one coding at a time; the limit applies to the decompressed size', async () => {
    const body = JSON.stringify({ id: 'compressed', data: { text: 'a'.repeat(5_000) } });
    const how = { idempotencyKey: 'however-it-is-sent' };
    const first = await from.post(body, how);
    expectWritten(first);
    const codings = {
      gzip: gzipSync(body),
      deflate: deflateSync(body),
      br: brotliCompressSync(body),
      GZIP: gzipSync(body),
    };
    for (const [coding, encoded] of Object.entries(codings)) {
      const replay = await from.post(encoded, { ...how, headers: { 'Content-Encoding': coding } });
      expect({ coding, status: replay.status, text: replay.text }).toEqual({ coding, status: 200, text: first.text });
      expect(replay.headers['idempotent-replayed']).toBe('true');
    }
    const bare = await from.post(deflateRawSync(body), { ...how, headers: { 'Content-Encoding': 'deflate' } });
    expect(bare.text).toBe(first.text);
    for (const coding of ['zstd', 'identity, gzip', 'gzip, gzip', 'compress', '']) {
      const answer = await from.post(gzipSync(body), { headers: { 'Content-Encoding': coding } });
      expectProblem(answer, 'UNSUPPORTED_MEDIA_TYPE');
    }
    expectProblem(await from.post(body, { headers: { 'Content-Encoding': 'gzip' } }), 'INVALID_JSON', at(''));
    const cut = gzipSync(body).subarray(0, -9);
    expectProblem(await from.post(cut, { headers: { 'Content-Encoding': 'gzip' } }), 'INVALID_JSON', at(''));
  });

  it('may be chunked, without a Content-Length', async () => {
    const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const how = { headers: { 'Transfer-Encoding': 'chunked' } };
    const written = await from.post(`${chunked('{"id":"in-')}${chunked('pieces"}')}0\r\n\r\n`, how);
    expect(expectWritten(written).records[0]!.id).toBe('in-pieces');
    const piece = chunked(' '.repeat(65_536));
    expectProblem(await from.post(`${piece.repeat(17)}0\r\n\r\n`, how), 'PAYLOAD_TOO_LARGE');
    expectWritten(await from.post({}));
  });

  it('must be sent as JSON of any kind, under exactly one Content-Type', async () => {
    const post = (type: string | readonly string[] | undefined) =>
      from.post('{}', { headers: { 'Content-Type': type } });
    for (const type of ['application/json; charset=utf-8', 'application/cloudevents+json'])
      expectWritten(await post(type));
    for (const type of ['application/json; charset=latin1', 'text/json', undefined])
      expectProblem(await post(type), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await post(['application/json', 'application/json']), 'INVALID_HEADER');
  });

  it('are not read for methods other than POST, which are all refused', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
      const answer = await setup.gateway.public.send({
        method,
        path: `/${networkId}`,
        headers: { 'X-Api-Key': rawKey },
      });
      expectCommonHeaders(answer);
      expect({ method, status: answer.status, allow: answer.headers['allow'] }).toEqual({
        method,
        status: 405,
        allow: 'POST',
      });
      if (method !== 'HEAD') expectProblem(answer, 'METHOD_NOT_ALLOWED');
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  it('are accepted on one path; every other is not found for every caller', async () => {
    const paths = [
      '/',
      `/${networkId}/`,
      `//${networkId}`,
      `/${networkId}//`,
      `/a/b`,
      '/.',
      '/..',
      '/%2e%2e',
      '/%',
      '/%zz',
    ];
    for (const path of [...paths, `/${networkId}%`, '/%E0%A4%A', '/metrics/x', '/health/live', '/admin/v1/networks']) {
      const headers = { 'X-Api-Key': rawKey, 'Content-Type': 'application/json' };
      const answer = await setup.gateway.public.send({ method: 'POST', path, headers, body: '{}' });
      expect({ path, status: answer.status }).toEqual({ path, status: 404 });
      expectProblem(answer, 'NOT_FOUND');
      expectCommonHeaders(answer);
    }
    const encoded = networkId.replace('-', '%2D');
    expectWritten(await sender(setup.gateway.public, encoded, rawKey).post({}));
    expectWritten(await sender(setup.gateway.public, `${networkId}?type=ping&limit=0&a=1&a=2`, rawKey).post({}));
    expectProblem(await sender(setup.gateway.public, `${networkId}%2Fmain`, rawKey).post({}), 'FORBIDDEN');
  });

  it('that are not HTTP are refused without a problem body, and close the connection', async () => {
    for (const text of [
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
    ]) {
      const said = await rawExchange(setup.gateway.public.origin, text);
      expect(said).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(said).toMatch(/\r\nConnection: close\r\n/i);
      expect(said).toMatch(/\r\nX-Content-Type-Options: nosniff\r\n/i);
      expect(said.slice(said.indexOf('\r\n\r\n') + 4)).toBe('');
    }
    expectWritten(await from.post({}));
  });
});
