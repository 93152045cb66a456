import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { tokenHashes } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { plain, testLog } from '../test/test-surface.ts';
import { adminApp, adminRoute, closedObject, opsApp, type AdminAppOptions, type OpsAppOptions } from './index.ts';

const TOKEN = 'an-admin-token-of-sufficient-length';
const HASH = createHash('sha256').update(TOKEN).digest('hex');

const networks = adminRoute({
  ...plain,
  operationId: 'makeNetwork',
  method: 'post',
  path: '/admin/v1/networks',
  permit: 'authenticated',
  body: closedObject({}),
  bodyMaxBytes: 65_536,
  handler: ({ caller }) => ({ status: 201, body: { actor: caller.actor } }),
});

function admin(changes: Partial<AdminAppOptions> = {}) {
  const { log, records, lines } = testLog();
  const failures: string[] = [];
  const app = adminApp({
    routes: [networks],
    tokens: tokenHashes(() => HASH),
    failedAuthentication: (from) => {
      failures.push(from.clientAddress);
      return failures.length > 2 ? new AppError('RATE_LIMITED', 'Too many failures.') : undefined;
    },
    log,
    metrics: { route: () => ({ observe: () => undefined }) },
    now: () => 0,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    ...changes,
  });
  return { app, records, lines, failures };
}

const make = (app: Parameters<typeof request>[0], token: string) =>
  request(app).post('/admin/v1/networks').set('Authorization', token);

describe('the admin listener', () => {
  it('accepts any configured token, and identifies tokens by hash', async () => {
    const response = await make(admin().app, `bearer  ${TOKEN}`).send({});
    expect(response.status).toBe(201);
    expect(response.body).toEqual({ actor: `admin:${HASH.slice(0, 8)}` });
  });

  it('refuses other tokens with the same 401, and limits failures per address', async () => {
    const { app, failures } = admin();
    const wrong = await make(app, 'Bearer wrong').send({});
    expectProblem(wrong, 'UNAUTHENTICATED');
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="sealgate"');
    expectProblem(await make(app, TOKEN).send({}), 'UNAUTHENTICATED');
    expectProblem(await request(app).post('/admin/v1/networks').set('X-Api-Key', TOKEN), 'RATE_LIMITED');
    expect(failures).toHaveLength(3);
    expect((await make(app, `Bearer ${TOKEN}`).send({})).status).toBe(201);
  });

  it('answers 404 everywhere if no token is configured', async () => {
    for (const tokens of [undefined, tokenHashes(() => '')]) {
      const { app } = admin({ tokens });
      expectProblem(await make(app, `Bearer ${TOKEN}`).send({}), 'NOT_FOUND');
      expectProblem(await request(app).get('/admin/v1/networks'), 'NOT_FOUND');
    }
  });

  it('refuses unknown members, unknown parameters and large bodies', async () => {
    const { app } = admin();
    expectProblem(await make(app, `Bearer ${TOKEN}`).send({ x: 1 }), 'INVALID_REQUEST', {
      errors: [{ in: 'body', pointer: '/x' }],
    });
    expectProblem(await make(app, `Bearer ${TOKEN}`).query({ x: 1 }).send({}), 'UNKNOWN_PARAMETER');
    const large = await make(app, `Bearer ${TOKEN}`).send({ x: 'x'.repeat(65_536) });
    expectProblem(large, 'PAYLOAD_TOO_LARGE');
  });

  it('rejects a route with a larger body limit at start', () => {
    const routes = [{ ...networks, bodyMaxBytes: 65_537 }];
    expect(() => admin({ routes })).toThrow('makeNetwork: an admin body may hold 65536 bytes.');
  });
});

function ops(changes: Partial<OpsAppOptions> = {}) {
  const { log, records } = testLog();
  const app = opsApp({
    metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: async () => 'up 1\n' },
    ready: () => ({ ok: true }),
    startup: async () => ({ ok: false, body: { status: 'unhealthy', reason: 'migrating' } }),
    checkTimeoutMs: 20,
    log,
    now: () => 0,
    newId: () => 'made-here',
    ...changes,
  });
  return { app, records };
}

describe('the ops listener', () => {
  it('answers the constant liveness body', async () => {
    const response = await request(ops().app).get('/health/live?whatever');
    expect(response.status).toBe(200);
    expect(response.text).toBe('{"status":"alive"}');
    expect(response.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  });

  it('compresses metrics for scrapers that accept it', async () => {
    const text = 'up{route="/a/long/path"} 1\n'.repeat(1000);
    const { app } = ops({
      metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: async () => text },
    });
    const zipped = await request(app).get('/metrics').set('Accept-Encoding', 'gzip');
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(zipped.text).toBe(text);
    expect(Number(zipped.headers['content-length'])).toBeLessThan(text.length / 10);
    const plain = await request(app).get('/metrics').set('Accept-Encoding', 'identity');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(plain.text).toBe(text);
  });

  it('reports the running version', async () => {
    const response = await request(ops().app).get('/version');
    expect(response).toMatchObject({
      status: 200,
      body: { version: '0.0.0-sources', commit: null, node: process.versions.node },
    });
    expect(response.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
  });

  it('answers checks in plain JSON, without Retry-After', async () => {
    const { app, records } = ops();
    const ready = await request(app).get('/health/ready');
    expect(ready).toMatchObject({ status: 200, body: { status: 'healthy' } });
    const startup = await request(app).get('/health/startup');
    expect(startup).toMatchObject({ status: 503, body: { status: 'unhealthy', reason: 'migrating' } });
    expect(startup.headers['content-type']).toBe('application/json');
    expect(startup.headers).not.toHaveProperty('retry-after');
    expect(records).toEqual([]);
  });

  it.each<[string, OpsAppOptions['ready']]>([
    [
      'throws',
      () => {
        throw new Error('a bug');
      },
    ],
    ['rejects', () => Promise.reject(new Error('a bug'))],
    ['never ends', () => new Promise(() => undefined)],
  ])('counts a check that %s as unhealthy', async (_, ready) => {
    const response = await request(ops({ ready }).app).get('/health/ready');
    expect(response).toMatchObject({ status: 503, body: { status: 'unhealthy' } });
    expect(response.text).not.toContain('bug');
  });

  it('serves the metrics, and nothing else', async () => {
    const { app } = ops();
    const response = await request(app).get('/metrics');
    expect(response.text).toBe('up 1\n');
    expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expectProblem(await request(app).get('/'), 'NOT_FOUND');
    expectProblem(await request(app).get('/health'), 'NOT_FOUND');
    expect((await request(app).head('/health/live')).status).toBe(200);
    expectProblem(await request(app).post('/metrics'), 'METHOD_NOT_ALLOWED');
  });
});
