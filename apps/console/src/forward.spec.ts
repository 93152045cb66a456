import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Browser } from './testing/browser.ts';
import { testConsole, type TestConsole } from './testing/test-console.ts';

const RISKS = '/api/risk-partner/api/risks';

let test: TestConsole;
let browser: Browser;
beforeEach(async () => {
  test = await testConsole();
  browser = new Browser();
  await browser.follow(`${test.url}/sign-in`);
});
afterEach(() => test.stop());

const codeOf = ({ body }: { body: string }) => (JSON.parse(body) as { code: string }).code;
const cookieOf = () => [...browser.jarOf(test.url)].map((pair) => pair.join('=')).join('; ');
const headersOf = () => ({ cookie: cookieOf(), origin: test.url, 'x-sealgate-console': '1' });

describe('a forwarded request', () => {
  it('continues the trace of the browser, if it has one', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await browser.change(test.url, RISKS, { method: 'POST', headers: { traceparent, tracestate: 'v=1' }, body: '{}' });
    expect(test.seen[0]?.headers).toMatchObject({ traceparent, tracestate: 'v=1' });
    await browser.change(test.url, RISKS, {
      method: 'POST',
      headers: { traceparent: `${traceparent}-more`, tracestate: 'v=1' },
      body: '{}',
    });
    expect(test.seen[1]?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(test.seen[1]?.headers).not.toHaveProperty('tracestate');
  });

  it('is sent unchanged with token and request id, without headers of the console', async () => {
    const answer = await browser.change(test.url, `${RISKS}?limit=5&a=%2F`, {
      method: 'PATCH',
      headers: {
        'if-match': '"r1"',
        'idempotency-key': 'k',
        'x-organization': 'org_1',
        'x-request-id': 'mine-1',
        authorization: 'Bearer forged',
        'x-forwarded-for': '10.0.0.1',
        forwarded: 'for=10.0.0.1',
        'sec-fetch-site': 'same-origin',
        referer: 'https://x',
        te: 'trailers',
        connection: 'x-hop',
        'x-hop': '1',
      },
      body: '{"a":1}',
    });
    expect(answer.status).toBe(200);
    const [{ method, url, headers, body } = { headers: {} as never, method: '', url: '', body: '' }] = test.seen;
    expect([method, url, body]).toEqual(['PATCH', '/api/risks?limit=5&a=%2F', '{"a":1}']);
    expect(headers).toMatchObject({
      'if-match': '"r1"',
      'idempotency-key': 'k',
      'x-organization': 'org_1',
      'x-request-id': 'mine-1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'content-type': 'application/json',
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      authorization: expect.stringMatching(/^Bearer eyJ/),
      traceparent: expect.stringMatching(/^00-/),
    });
    const kept = ['cookie', 'forwarded', 'origin', 'referer', 'te', 'x-hop', 'x-sealgate-console', 'sec-fetch-site'];
    expect(Object.keys(headers).filter((name) => kept.includes(name))).toEqual([]);
    expect(answer.headers['x-request-id']).toBe('mine-1');
  });

  it('gets the response unchanged, problems too, without headers that act on our origin', async () => {
    const problem = JSON.stringify({ type: 'urn:sealgate:problem:precondition-failed', title: 't', status: 412 });
    test.answer = (_, response) => {
      response.writeHead(412, [
        ...['Content-Type', 'application/problem+json', 'ETag', '"r2"', 'Link', '<a>; rel=next', 'Link', '<b>; rel=x'],
        ...['Retry-After', '3', 'RateLimit', '"key";r=1;t=1', 'Set-Cookie', 'a=b', 'Clear-Site-Data', '"cookies"'],
        ...['Access-Control-Allow-Origin', '*', 'Service-Worker-Allowed', '/', 'X-Request-Id', 'another'],
        ...['Content-Security-Policy', "script-src 'unsafe-inline'", 'Keep-Alive', 'timeout=9'],
      ]);
      response.end(problem);
    };
    const { status, headers, body } = await browser.ask(test.url, RISKS, { headers: { 'x-request-id': 'mine' } });
    expect([status, body]).toEqual([412, problem]);
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json',
      etag: '"r2"',
      link: '<a>; rel=next, <b>; rel=x',
      'retry-after': '3',
      ratelimit: '"key";r=1;t=1',
      'x-request-id': 'mine',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^default-src 'none'; .*sandbox$/),
    });
    for (const name of ['set-cookie', 'clear-site-data', 'access-control-allow-origin', 'service-worker-allowed'])
      expect(headers[name]).toBeUndefined();
  });

  it('gets HEAD, DELETE and 304 responses without a body', async () => {
    test.answer = (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'content-length': '7' }).end();
      else response.writeHead(request.method === 'DELETE' ? 204 : 304, { etag: '"x"' }).end();
    };
    expect(await browser.ask(test.url, RISKS, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
    expect((await browser.ask(test.url, RISKS)).status).toBe(304);
    const deleted = await browser.change(test.url, RISKS, {
      method: 'DELETE',
      headers: { 'content-length': '14' },
      body: '{"not":"read"}',
    });
    expect(deleted.status).toBe(204);
    expect(test.seen.at(-1)?.body).toBe('');
    expect(test.seen.at(-1)?.headers['content-length']).toBeUndefined();
  });

  it.each([
    ['/api/risk-partner/a%2Fb/c%20d', '/a%2Fb/c%20d'],
    ['/api/risk-partner/%C3%BC/x.y', '/%C3%BC/x.y'],
    ['/api/case-gate/a', '/below/a'],
  ])('keeps %s unchanged', async (path, target) => {
    expect((await browser.ask(test.url, path)).status).toBe(200);
    expect(test.seen[0]?.url).toBe(target);
  });

  it.each([
    '/api/case-gate/..',
    '/api/case-gate/../api/risks',
    '/api/case-gate/x/../../y',
    '/api/case-gate/%2e%2e/y',
    '/api/case-gate/.%2E/y',
    '/api/case-gate/..%2Fy',
    '/api/case-gate/x%2F..%2Fy',
    '/api/case-gate/..%5Cy',
    '/api/case-gate/%252e%252e%252fy',
    '/api/case-gate/..;/y',
    '/api/case-gate//y',
    '/api/case-gate/x//y',
    '/api/case-gate/x/',
    '/api/case-gate/./y',
    '/api/case-gate/%zz',
    '/api/case-gate/%ff',
    '/api/case-gate/\\..\\y',
    '/api/case-gate',
    '/api/case-gate/',
    '/api/case%2Dgate/y',
    '/api/nobody/y',
    '/admin/case-gate/admin/v1/whoami',
    '/api/ingest-gateway/demo',
  ])('refuses paths that leave their prefix: %s', async (path) => {
    expect((await browser.ask(test.url, path)).status).toBe(404);
    expect(test.seen).toEqual([]);
  });

  it('streams events, and is aborted when the client disconnects', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    test.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      response.on('close', resolve);
    };
    const outgoing = httpRequest(`${test.url}${RISKS}`, { headers: { cookie: cookieOf() } }).end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const [chunk] = (await once(answer, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('data: 1\n\n');
    outgoing.destroy();
    await gone;
  });

  it('is cut off if the surface cuts off its response, so that a partial body is not taken as complete', async () => {
    test.answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    await expect(browser.ask(test.url, RISKS)).rejects.toThrow(/aborted|hang up/);
  });
});

describe('a page of another origin', () => {
  it.each<[string, Record<string, string | undefined>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', { origin: undefined }],
    ['an opaque origin', { origin: 'null' }],
    ['our host on another port', { origin: 'http://127.0.0.1:1' }],
    ['no header of ours', { 'x-sealgate-console': undefined }],
    ['another value of our header', { 'x-sealgate-console': 'true' }],
    ['a browser that says cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['a browser that says same-site', { 'sec-fetch-site': 'same-site' }],
  ])('cannot change anything with %s', async (_, wrong) => {
    const given: Record<string, string | undefined> = { ...headersOf(), ...wrong };
    const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await new Browser().ask(test.url, RISKS, { method, headers: headers as Record<string, string> });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    }
    expect(test.seen).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['no Origin', {}, /needs the header Origin, as browsers send it: http:/],
    [
      'another Origin',
      { origin: 'https://evil.example' },
      /must come from a page at http:.*: its Origin is another one/,
    ],
    ['no header of ours', { origin: '' }, /needs the header X-Sealgate-Console: 1/],
  ])('is told what a change needs that has %s', async (_, given, detail) => {
    const headers = given['origin'] === '' ? { origin: test.url } : given;
    const { body } = await browser.ask(test.url, RISKS, { method: 'POST', headers });
    expect((JSON.parse(body) as { detail: string }).detail).toMatch(detail);
    expect(body).not.toContain('evil.example');
  });

  it('cannot read if the browser sends Sec-Fetch-Site, and gets no CORS headers', async () => {
    for (const path of [RISKS, '/session', '/overview']) {
      const answer = await browser.ask(test.url, path, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    const preflight = await browser.ask(test.url, RISKS, { method: 'OPTIONS', headers: { origin: 'https://evil' } });
    expect(preflight.status).toBe(405);
    expect((await browser.ask(test.url, RISKS, { headers: { 'sec-fetch-site': 'none' } })).status).toBe(200);
  });
});

describe('a failing surface', () => {
  it('is UNAVAILABLE if unreachable: nothing was changed', async () => {
    test.surface.close();
    test.surface.closeAllConnections();
    for (const answer of [await browser.ask(test.url, RISKS), await browser.change(test.url, RISKS, { body: '{}' })]) {
      expect([answer.status, codeOf(answer)]).toEqual([503, 'UNAVAILABLE']);
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect(test.counted.filter((one) => one.startsWith('risk'))).toEqual(Array(2).fill('risk-partner unreachable'));
  });

  it('gives OUTCOME_UNKNOWN for a change if the connection is lost', async () => {
    test.answer = (request) => request.socket.destroy();
    const answer = await browser.change(test.url, RISKS, { body: '{}' });
    expect([answer.status, codeOf(answer)]).toEqual([503, 'OUTCOME_UNKNOWN']);
    expect(test.seen).toHaveLength(1);
  });

  it('gets a read once more if a reused connection was closed, and never a change', async () => {
    await browser.ask(test.url, RISKS);
    let closed = 0;
    test.answer = (request, response) => {
      closed += 1;
      if (closed === 1) request.socket.destroy();
      else response.end('{}');
    };
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
    expect(closed).toBe(2);
    closed = 0;
    expect((await browser.change(test.url, RISKS, { body: '{}' })).status).toBe(503);
    expect(closed).toBe(1);
  });
});

describe('a body', () => {
  it('of the maximum size is forwarded, and one byte more is refused, with or without Content-Length', async () => {
    const body = 'x'.repeat(65_536);
    expect((await browser.change(test.url, RISKS, { body })).status).toBe(200);
    expect(test.seen[0]?.body).toBe(body);
    const announced = await browser.change(test.url, RISKS, {
      body: `${body}x`,
      headers: { 'content-length': '65537' },
    });
    expect([announced.status, codeOf(announced)]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const chunked = await browser.change(test.url, RISKS, {
      body: `${body}x`,
      headers: { 'transfer-encoding': 'chunked' },
    });
    expect([chunked.status, codeOf(chunked)]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(test.seen).toHaveLength(1);
  });

  it('that is absent is sent as Content-Length 0', async () => {
    const outgoing = httpRequest(`${test.url}${RISKS}`, { method: 'POST', headers: headersOf() });
    outgoing.removeHeader('transfer-encoding');
    outgoing.setHeader('content-length', '0');
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
    expect(test.seen[0]?.headers).toMatchObject({ 'content-length': '0' });
  });
});
