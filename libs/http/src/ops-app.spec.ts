import { describe, expect, it } from '@jest/globals';
import request from 'supertest';

import { expectProblem } from '@sealgate/testing';
import { testLog } from '../test/test-surface.ts';
import { opsApp, type OpsAppOptions } from './index.ts';

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
