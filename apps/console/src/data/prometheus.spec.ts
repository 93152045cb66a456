import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { prometheus } from './prometheus.ts';

let server: Server;
let url: string;
let asked: string[];
let answer: (query: string) => { readonly status?: number; readonly body: string };
beforeEach(async () => {
  asked = [];
  server = createServer(({ url: path = '' }, response) => {
    const query = new URL(path, 'http://prometheus').searchParams.get('query') ?? '';
    asked.push(query);
    const { status = 200, body } = answer(query);
    response.writeHead(status).end(body);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const vector = (...result: readonly (readonly [metric: object, value: string])[]) => ({
  body: JSON.stringify({
    status: 'success',
    data: { resultType: 'vector', result: result.map(([metric, value]) => ({ metric, value: [0, value] })) },
  }),
});

describe('Prometheus', () => {
  it('is asked four fixed queries, at most every ten seconds', async () => {
    answer = (query) => {
      if (query.startsWith('ALERTS'))
        return vector(
          [{ alertname: 'Slow', severity: 'page', service: 'case-gate' }, '1'],
          [{ alertname: 'Other', service: 'something-else' }, '1'],
          [{ alertname: 'Watchdog', severity: 'none' }, '1'],
          [{ alertname: 'SealgateRedisAway', severity: 'ticket' }, '1'],
        );
      if (query.startsWith('histogram')) return vector([{ service: 'case-gate' }, '0.25'], [{ service: 'x' }, 'NaN']);
      return query.includes('5xx') ? vector() : vector([{ service: 'case-gate' }, '12.5']);
    };
    const clock = testClock();
    const measured = prometheus({ url, now: clock.now });
    const found = await measured();
    expect(found?.rates.get('case-gate')).toEqual({ requestsPerSecond: 12.5, p95Seconds: 0.25 });
    expect(found?.rates.get('risk-partner')).toEqual({});
    expect(found?.alerts).toEqual([
      { service: 'case-gate', name: 'Slow', severity: 'page' },
      { service: null, name: 'SealgateRedisAway', severity: 'ticket' },
    ]);
    expect(asked).toHaveLength(4);
    await measured();
    expect(asked).toHaveLength(4);
    clock.advance(10_000);
    await measured();
    expect(asked).toHaveLength(8);
    expect(new Set(asked).size).toBe(4);
  });

  it.each<[string, { readonly status?: number; readonly body: string }]>([
    ['fails', { status: 503, body: '{}' }],
    ['is something else', { body: '<html>' }],
    ['says too much', { body: ' '.repeat(1_048_577) }],
  ])('is left out where it %s', async (_what, said) => {
    answer = () => said;
    expect(await prometheus({ url, now: testClock().now })()).toBeUndefined();
  });

  it('is left out where it does not answer', async () => {
    expect(await prometheus({ url: 'http://127.0.0.1:1', now: testClock().now })()).toBeUndefined();
  });
});
