import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { answerOf, LIMIT_HEADERS, listen, plain, sendRequest, testRoute, testSurface } from '../test/test-surface.ts';

const open = testRoute({
  ...plain,
  method: 'get',
  path: '/open',
  handler: ({ requestId, traceparent }) => ({ status: 200, body: { requestId, traceparent } }),
});

const closed = testRoute({
  ...plain,
  operationId: 'closed',
  method: 'put',
  path: '/closed',
  permit: 'authenticated',
  charge: 1,
  handler: () => ({ status: 200, body: {} }),
});

const unpaid = testRoute({
  ...plain,
  operationId: 'unpaid',
  method: 'put',
  path: '/unpaid',
  permit: 'authenticated',
  handler: () => ({ status: 204 }),
});

const broken = testRoute({
  ...plain,
  operationId: 'broken',
  method: 'get',
  path: '/broken',
  handler: () => {
    throw new Error('a bug');
  },
});

const routes = [open, closed, unpaid, broken];

const answerTo = (head: readonly string[]) => answerOf(routes, head);

describe('headers of every answer', () => {
  it('are the defaults of helmet, without X-Powered-By, whatever the status', async () => {
    const { app } = testSurface(routes);
    for (const [path, status] of [
      ['/open', 200],
      ['/nothing', 404],
      ['/broken', 500],
    ] as const) {
      const { headers, status: got } = await request(app).get(path);
      expect(got).toBe(status);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'self'"),
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'origin-agent-cluster': '?1',
        'referrer-policy': 'no-referrer',
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'x-content-type-options': 'nosniff',
        'x-dns-prefetch-control': 'off',
        'x-download-options': 'noopen',
        'x-frame-options': 'SAMEORIGIN',
        'x-permitted-cross-domain-policies': 'none',
        'x-xss-protection': '0',
        'x-request-id': 'made-here',
        'cache-control': 'no-store',
      });
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });

  it('are also on refusals of the HTTP parser, which have no body and close the connection', async () => {
    const listening = await listen(testSurface(routes).app);
    const { status, headers, body } = await sendRequest(listening.port, ['GET /open HTTP/1.1', 'no colon here']);
    expect(status).toBe(400);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', connection: 'close', 'content-length': '0' });
    expect(body).toBe('');
    const large = await sendRequest(listening.port, ['GET /open HTTP/1.1', `X-Large: ${'x'.repeat(33_000)}`]);
    expect(large.status).toBe(431);
    await listening.close();
  });

  it('use the Cache-Control of the reply, in any case', async () => {
    const cached = testRoute({
      ...plain,
      method: 'get',
      path: '/cached',
      handler: () => ({
        status: 200,
        body: 'x',
        contentType: 'text/plain',
        headers: { 'cache-control': 'private', Via: 'x' },
      }),
    });
    const { headers } = await request(testSurface([cached]).app).get('/cached');
    expect(headers).toMatchObject({ 'cache-control': 'private', via: 'x', 'content-type': 'text/plain' });
  });
});

describe('traceparent', () => {
  const valid = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  it('is adopted and logged', async () => {
    const { surface, answer } = await answerTo(['GET /open HTTP/1.1', `traceparent: ${valid}`]);
    expect(answer.body).toMatchObject({ traceparent: valid });
    expect(surface.records[0]?.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
  });

  it('is generated if it is missing, malformed or repeated', async () => {
    for (const lines of [[], ['traceparent: 00-xyz'], [`traceparent: ${valid}`, `traceparent: ${valid}`]]) {
      const { answer } = await answerTo(['GET /open HTTP/1.1', ...lines]);
      expect(answer.body).toMatchObject({ traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/) });
      expect(answer.body).not.toMatchObject({ traceparent: valid });
    }
  });
});

describe('headers sent twice', () => {
  it.each(['Authorization: Bearer x', 'X-Api-Key: good'])('are 401 for credentials: %s', async (line) => {
    const { answer, surface } = await answerTo(['PUT /closed HTTP/1.1', 'X-Api-Key: good', line, line]);
    expectProblem(answer, 'UNAUTHENTICATED');
    expect(surface.asked).toEqual([]);
  });

  it.each(['Content-Type: application/json', 'If-Match: "1"', 'if-match: "1"'])('are 400 for %s', async (line) => {
    const { answer } = await answerTo(['PUT /closed HTTP/1.1', 'X-Api-Key: good', line, line]);
    const pointer = `/${line.split(':')[0]?.toLowerCase()}`;
    expectProblem(answer, 'INVALID_HEADER', { errors: [{ in: 'header', pointer }] });
  });

  it('are passed to the handler separately where it checks them', async () => {
    const keyed = testRoute({
      ...plain,
      method: 'post',
      path: '/keyed',
      handler: ({ idempotency }) => ({ status: 200, body: idempotency.keys }),
    });
    const listening = await listen(testSurface([keyed]).app);
    const { body } = await sendRequest(listening.port, [
      'POST /keyed HTTP/1.1',
      'Idempotency-Key: "a, b"',
      'idempotency-key: c',
    ]);
    expect(body).toEqual(['"a, b"', 'c']);
    await listening.close();
  });
});

describe('authentication', () => {
  const { app } = testSurface(routes);

  it('fails with the same answer, whatever the reason', async () => {
    const bare = ({ text }: { text: string }) => text.replaceAll(/made-here/g, '');
    const missing = await request(app).put('/closed');
    const wrong = await request(app).put('/closed').set('X-Api-Key', 'wrong').set('X-Request-Id', 'made-here');
    expectProblem(missing, 'UNAUTHENTICATED');
    expect(missing.headers['www-authenticate']).toBe('ApiKey realm="sealgate"');
    expect(bare(wrong)).toBe(bare(missing));
    expect(Object.keys(wrong.headers)).toEqual(Object.keys(missing.headers));
  });

  it('is 503, never 401, while the key store is unavailable', async () => {
    expectProblem(await request(app).put('/closed').set('X-Api-Key', 'down'), 'UNAVAILABLE');
  });

  it("counts failures by address, and answers with the limiter's error in place of the 401", async () => {
    const failures: string[] = [];
    const surface = testSurface(routes, {
      trustProxy: 'loopback',
      guardChanges: {
        failedAuthentication: (from) => {
          failures.push(`${from.clientAddress} ${from.socketAddress}`);
          return failures.length < 2 ? undefined : new AppError('RATE_LIMITED', 'Too many failures.');
        },
      },
    });
    const fail = () => request(surface.app).put('/closed').set('X-Forwarded-For', '203.0.113.7');
    expectProblem(await fail(), 'UNAUTHENTICATED');
    expectProblem(await fail(), 'RATE_LIMITED');
    expect(failures).toEqual(Array(2).fill(expect.stringMatching(/^203\.0\.113\.7 (::ffff:)?127\.0\.0\.1$/)));
    const fine = await request(surface.app)
      .put('/closed')
      .set('X-Api-Key', 'good')
      .set('X-Forwarded-For', '203.0.113.7');
    expect(fine.status).toBe(200);
    await request(surface.app).put('/closed').set('X-Api-Key', 'down');
    expect(failures).toHaveLength(2);
  });

  it('ignores X-Forwarded-For of untrusted peers', async () => {
    const seen: string[] = [];
    const surface = testSurface(routes, {
      guardChanges: { failedAuthentication: (from) => void seen.push(from.clientAddress) },
    });
    await request(surface.app).put('/closed').set('X-Forwarded-For', '203.0.113.7');
    expect(seen).toEqual([expect.stringContaining('127.0.0.1')]);
  });

  it('logs the caller', async () => {
    const surface = testSurface(routes, { guardChanges: { describe: (caller) => ({ keyId: caller.name }) } });
    await request(surface.app).put('/closed').set('X-Api-Key', 'good');
    await request(surface.app).put('/closed').set('X-Api-Key', 'bad');
    expect(surface.records).toMatchObject([
      { keyId: 'good' },
      { code: 'UNAUTHENTICATED', clientAddress: expect.stringContaining('127.0.0.1') },
    ]);
    expect(surface.records[1]).not.toHaveProperty('keyId');
  });

  it('logs the errors behind an outage and a refused credential, and nothing of other refusals', async () => {
    const away = new Error('No connection.', { cause: new Error('connect ECONNREFUSED') });
    const answers: Readonly<Record<string, AppError>> = {
      '/away': new AppError('UNAVAILABLE', 'Try again.', { cause: away }),
      '/unknown': new AppError('OUTCOME_UNKNOWN', 'Repeat it.', { members: { eventId: 'evt_1' } }),
      '/wrong': new AppError('INVALID_REQUEST', 'No.', { cause: new Error('what a client sent') }),
    };
    const surface = testSurface(
      Object.entries(answers).map(([path, error]) =>
        testRoute({ ...plain, operationId: path.slice(1), method: 'get', path, handler: () => Promise.reject(error) }),
      ),
    );
    for (const path of Object.keys(answers)) await request(surface.app).get(path);
    expect(surface.records).toMatchObject([
      { code: 'UNAVAILABLE', reason: 'No connection.: connect ECONNREFUSED' },
      { code: 'OUTCOME_UNKNOWN', reason: 'Repeat it.', eventId: 'evt_1' },
      { code: 'INVALID_REQUEST' },
    ]);
    expect(surface.records[2]).not.toHaveProperty('reason');
    const closed = testSurface(routes);
    await request(closed.app).put('/closed').set('X-Api-Key', 'bad');
    expect(closed.records).toMatchObject([{ code: 'UNAUTHENTICATED', reason: 'No key bad.' }]);
  });
});

describe('limit headers', () => {
  const limits = { 'ratelimit-policy': LIMIT_HEADERS['RateLimit-Policy'], ratelimit: LIMIT_HEADERS.RateLimit };

  it('are on every answer after a charge', async () => {
    const { app } = testSurface(routes);
    expect((await request(app).put('/closed').set('X-Api-Key', 'good')).headers).toMatchObject(limits);
    const refused = await request(app).put('/closed').set('X-Api-Key', 'poor');
    expectProblem(refused, 'RATE_LIMITED', { retryAfterSeconds: 3 });
    expect(refused.headers).toMatchObject(limits);
  });

  it('are the last known ones of the caller if nothing was charged', async () => {
    const surface = testSurface(routes, { guardChanges: { lastLimits: () => LIMIT_HEADERS } });
    const response = await request(surface.app).put('/unpaid').set('X-Api-Key', 'good');
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject(limits);
    expect(response.headers).not.toHaveProperty('content-length');
  });

  it('are absent before authentication', async () => {
    const surface = testSurface(routes, { guardChanges: { lastLimits: () => LIMIT_HEADERS } });
    expect((await request(surface.app).put('/closed')).headers).not.toHaveProperty('ratelimit');
    expect((await request(surface.app).get('/open')).headers).not.toHaveProperty('ratelimit');
  });
});

describe('TLS terminated upstream', () => {
  const over = (protocol: string, trustProxy: string | boolean = 'loopback') => {
    const { app } = testSurface(routes, { tlsTerminatedUpstream: true, trustProxy });
    return (path: string) => request(app).get(path).set('X-Forwarded-Proto', protocol);
  };

  it('is required first of all when a trusted proxy reports plain HTTP', async () => {
    expectProblem(await over('http')('/open'), 'TLS_REQUIRED');
    expectProblem(await over('HTTP, https')('/open'), 'TLS_REQUIRED');
    expectProblem(await over('http')('/nothing'), 'TLS_REQUIRED');
    expectProblem(await over('http')('/closed'), 'TLS_REQUIRED');
  });

  it('is not enforced if it was used, or if an untrusted peer reports plain HTTP', async () => {
    expect((await over('https')('/open')).status).toBe(200);
    expect((await over('http', false)('/open')).status).toBe(200);
    const { app } = testSurface(routes, { tlsTerminatedUpstream: true, trustProxy: 'loopback' });
    expect((await request(app).get('/open')).status).toBe(200);
  });
});
