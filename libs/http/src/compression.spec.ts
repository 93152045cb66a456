import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { until } from '@sealgate/testing';
import { Compression } from './content-coding.ts';
import { listen, plain, testRoute, testSurface, type ListeningSurface } from '../test/test-surface.ts';

const TEXT = JSON.stringify({ text: 'evidence of a control, é. '.repeat(80) });
const SMALL = JSON.stringify('x'.repeat(1022));
const DOCUMENT = Buffer.from(TEXT);

/** Replies of `/as/...`, by the last segment. */
const REPLIES: Readonly<Record<string, object>> = {
  text: { body: TEXT },
  bytes: { body: DOCUMENT },
  object: { body: JSON.parse(TEXT) },
  small: { body: SMALL },
  larger: { body: JSON.stringify('x'.repeat(1023)) },
  problemType: { body: TEXT, contentType: 'application/problem+json; charset=utf-8' },
  html: { body: TEXT, contentType: 'text/html; charset=utf-8' },
  jose: { body: TEXT, contentType: 'application/jose' },
  tile: { body: DOCUMENT, contentType: 'application/octet-stream' },
  entries: { body: DOCUMENT, contentType: 'application/octet-stream', compresses: true },
  jsonLike: { body: DOCUMENT, contentType: 'application/jsonp' },
  weak: { body: TEXT, headers: { ETag: 'W/"1"', 'Cache-Control': 'private, no-cache', vary: 'Authorization' } },
  smallWeak: { body: '{}', headers: { ETag: 'W/"1"', Vary: 'Authorization' } },
  strong: { body: TEXT, headers: { etag: '"1"', Vary: 'Authorization' } },
  secret: { body: TEXT, holdsSecret: true },
  known: { status: 304, headers: { ETag: 'W/"1"', Vary: 'Authorization' } },
  knownStrong: { status: 304, headers: { ETag: '"1"' } },
  nothing: { status: 204 },
  unsendable: { body: TEXT, headers: { Location: 'two\nlines' } },
};

let onReply = (): unknown => undefined;
const as = testRoute({
  ...plain,
  method: 'get',
  path: '/as/:what',
  handler: ({ params }) => {
    onReply();
    return { status: 200, ...REPLIES[params.what] };
  },
});
const failing = testRoute({
  ...plain,
  operationId: 'failing',
  method: 'get',
  path: '/failing',
  admit: () => ({ Vary: 'Origin' }),
  handler: () => {
    throw new AppError('INVALID_REQUEST', 'wrong '.repeat(300));
  },
});
const routes = [as, failing];

interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

describe('compressed answers', () => {
  let listening: ListeningSurface | undefined;
  afterEach(async () => {
    onReply = () => undefined;
    await listening?.close();
  });

  const start = async (compress = true) => {
    const surface = testSurface(routes, { compress });
    listening = await listen(surface.app);
    return surface;
  };
  const ask = async (path: string, acceptEncoding?: string, method = 'GET'): Promise<Received> => {
    const lines = acceptEncoding === undefined ? '' : `Accept-Encoding: ${acceptEncoding}\r\n`;
    const [answer] = await askAll(`${method} ${path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n${lines}\r\n`);
    if (answer === undefined) throw new Error('There is no answer.');
    return answer;
  };
  const askAll = async (text: string): Promise<Received[]> => answersIn(await everything(listening?.port ?? 0, text));

  it.each([
    // RFC 9110 section 12.5.3.
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate', 'gzip'],
    ['deflate, zstd', undefined],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['gzip;q=0.8, br', 'br'],
    ['gzip;q=0.5,br;q=0.500', 'gzip'],
    ['gzip ; q=0.2 , br ; q=0.1', 'gzip'],
    ['*', 'br'],
    ['*;q=0.1', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0, gzip;q=0.000, *', undefined],
    ['*;q=0', undefined],
    ['gzip;q=0', undefined],
    ['identity', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['identity;q=0', undefined],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['identity;q=0, *', 'br'],
    ['identity;q=0, zstd', undefined],
    ['gzip;q=nonsense', undefined],
  ])('use the coding that Accept-Encoding prefers: %s gives %s', async (wanted, coding) => {
    await start();
    const { status, headers, bytes } = await ask('/as/text', wanted);
    expect(status).toBe(200);
    expect(headers['content-encoding']).toBe(coding);
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(textOf({ headers, bytes })).toBe(TEXT);
    expect(bytes.length < TEXT.length / 4).toBe(coding !== undefined);
  });

  it.each([
    ['text', 'gzip', 'Accept-Encoding'],
    ['bytes', 'gzip', 'Accept-Encoding'],
    ['object', 'gzip', 'Accept-Encoding'],
    ['problemType', 'gzip', 'Accept-Encoding'],
    ['html', 'gzip', 'Accept-Encoding'],
    ['jose', 'gzip', 'Accept-Encoding'],
    // 1,024 and 1,025 bytes.
    ['small', undefined, undefined],
    ['larger', 'gzip', 'Accept-Encoding'],
    ['tile', undefined, undefined],
    ['entries', 'gzip', 'Accept-Encoding'],
    ['jsonLike', undefined, undefined],
    ['weak', 'gzip', 'Authorization, Accept-Encoding'],
    ['smallWeak', undefined, 'Authorization, Accept-Encoding'],
    ['strong', undefined, 'Authorization'],
    ['secret', undefined, undefined],
    ['known', undefined, 'Authorization, Accept-Encoding'],
    ['knownStrong', undefined, undefined],
    ['nothing', undefined, undefined],
  ])('are chosen by media type, size, ETag and secrets: %s is %s and varies by %s', async (what, coding, vary) => {
    await start();
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await ask(`/as/${what}`, 'gzip', method);
      expect([headers['content-encoding'], headers['vary']]).toEqual([coding, vary]);
    }
    const uncompressed = await ask(`/as/${what}`);
    expect([uncompressed.headers['content-encoding'], uncompressed.headers['vary']]).toEqual([undefined, vary]);
  });

  it('keep their ETag and Cache-Control', async () => {
    await start();
    const { headers } = await ask('/as/weak', 'br');
    expect(headers).toMatchObject({ etag: 'W/"1"', 'cache-control': 'private, no-cache', 'content-encoding': 'br' });
    expect((await ask('/as/text', 'br')).headers).toMatchObject({ 'cache-control': 'no-store' });
  });

  it('have the headers of GET on HEAD, except for the unknown length', async () => {
    await start();
    const { 'content-length': length, date: _, ...expected } = (await ask('/as/text', 'br')).headers;
    const { headers, bytes } = await ask('/as/text', 'br', 'HEAD');
    const { date: __, ...got } = headers;
    expect(got).toEqual(expected);
    expect([Number(length) > 0, bytes.length]).toEqual([true, 0]);
    expect((await ask('/as/text', undefined, 'HEAD')).headers['content-length']).toBe(String(DOCUMENT.length));
  });

  it('include problems, with the Vary of their path', async () => {
    const surface = await start();
    const answer = await ask('/failing', 'gzip');
    expect(answer).toMatchObject({
      status: 400,
      headers: { vary: 'Origin, Accept-Encoding', 'content-encoding': 'gzip' },
    });
    expect(JSON.parse(textOf(answer))).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(surface.records).toMatchObject([{ status: 400, code: 'INVALID_REQUEST' }]);
    expect(surface.observed).toHaveLength(1);
  });

  it('that cannot be sent are a 500', async () => {
    const surface = await start();
    const answer = await ask('/as/unsendable', 'gzip');
    expect([answer.status, answer.headers['content-encoding']]).toEqual([500, undefined]);
    expect(surface.lines).toMatchObject([{ event: 'request_failed' }]);
    expect(surface.records).toMatchObject([{ status: 500 }]);
  });

  it('are sent in the order of pipelined requests, between uncompressed answers', async () => {
    await start();
    const paths = Array.from({ length: 48 }, (_, index) => ['text', 'small', 'weak', 'html', 'tile'][index % 5] ?? '');
    const requests = paths.map((path, index) =>
      [
        `GET /as/${path} HTTP/1.1\r\nHost: t\r\nX-Request-Id: r${index}`,
        ...(index % 3 === 0 ? [] : ['Accept-Encoding: br']),
        ...(index === 47 ? ['Connection: close'] : []),
      ].join('\r\n'),
    );
    const answers = await askAll(requests.map((text) => `${text}\r\n\r\n`).join(''));
    expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(paths.map((_, index) => `r${index}`));
    for (const [index, answer] of answers.entries()) {
      expect(textOf(answer)).toBe(paths[index] === 'small' ? SMALL : TEXT);
    }
  });

  it('close the connection if the app starts draining meanwhile', async () => {
    const { app } = await start();
    onReply = () => setImmediate(() => app.drain());
    const request = 'GET /as/text HTTP/1.1\r\nHost: t\r\nAccept-Encoding: br\r\n\r\n';
    const headers = { connection: 'close', 'content-encoding': 'br' };
    expect(await askAll(request)).toMatchObject([{ status: 200, headers }]);
  });

  it('are logged if the client disconnects meanwhile', async () => {
    const surface = await start();
    const socket = connect(listening?.port ?? 0, '127.0.0.1');
    onReply = () => socket.destroy();
    socket.write('GET /as/text HTTP/1.1\r\nHost: t\r\nAccept-Encoding: br\r\n\r\n');
    await until(() => surface.records.length > 0);
    expect(surface).toMatchObject({ records: [{ status: 200 }], lines: [] });
  });

  it('are not used for an overlong Accept-Encoding', async () => {
    await start();
    expect((await ask('/as/text', `${'x,'.repeat(126)}gzip`)).headers['content-encoding']).toBe('gzip');
    expect((await ask('/as/text', `${'x,'.repeat(127)}gzip`)).headers['content-encoding']).toBeUndefined();
  });

  it('are off unless the app enables them', async () => {
    await start(false);
    const { headers } = await ask('/as/weak', 'gzip, br');
    expect([headers['content-encoding'], headers['vary']]).toEqual([undefined, 'Authorization']);
  });
});

describe('compression', () => {
  it('limits concurrency to sixteen answers', async () => {
    const compression = new Compression();
    const first = Array.from({ length: 16 }, () => compression.compress(TEXT, 'gzip'));
    expect(compression.compress(TEXT, 'br')).toBeUndefined();
    for (const bytes of first) expect(gunzipSync((await bytes) ?? '').toString()).toBe(TEXT);
    expect(brotliDecompressSync((await compression.compress(TEXT, 'br')) ?? '').toString()).toBe(TEXT);
  });

  it('limits concurrency to 16 MiB', async () => {
    const compression = new Compression();
    expect(compression.compress(Buffer.alloc(16_777_217), 'gzip')).toBeUndefined();
    const large = compression.compress(Buffer.alloc(16_777_216 - 1000), 'gzip');
    const small = compression.compress('x'.repeat(1000), 'gzip');
    expect(compression.compress('x', 'gzip')).toBeUndefined();
    expect((await large)?.length).toBeLessThan(100_000);
    expect((await small)?.length).toBeLessThan(100);
    expect(await compression.compress('x', 'gzip')).toBeInstanceOf(Buffer);
  });

  it('compresses a constant document once per coding', async () => {
    const compression = new Compression();
    const twice = async (coding: 'br' | 'gzip') => [
      await compression.compress(DOCUMENT, coding),
      await compression.compress(DOCUMENT, coding),
    ];
    const [gzipped, again] = await twice('gzip');
    expect(again).toBe(gzipped);
    const [smaller, smallerAgain] = await twice('br');
    expect(smallerAgain).toBe(smaller);
    expect(smaller).not.toBe(gzipped);
  });
});

/** All bytes until the server closes the connection. */
function everything(port: number, text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks)));
  });
}

/** The answers of one connection. Those without a body (HEAD and 304) must be last. */
function answersIn(bytes: Buffer): Received[] {
  const answers: Received[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at) + 4;
    const [statusLine = '', ...lines] = bytes.toString('latin1', at, end - 4).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    at = Math.min(bytes.length, end + Number(headers['content-length'] ?? 0));
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, bytes: bytes.subarray(end, at) });
  }
  return answers;
}

function textOf({ headers, bytes }: Pick<Received, 'headers' | 'bytes'>): string {
  const coding = headers['content-encoding'];
  if (coding === undefined) return bytes.toString();
  return (coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toString();
}
