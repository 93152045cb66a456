import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { recordBody } from '../bodies.ts';
import { startEchoServer, type EchoName } from '../servers/echo-server.ts';
import { startGenerator, type Generator } from './generator.ts';
import type { LoadPlan } from './load-plan.ts';

const plan = (port: number, more: Partial<LoadPlan> = {}): LoadPlan => ({
  destinations: [{ port, path: '/bench', headers: { 'Content-Type': 'application/json' } }],
  body: recordBody(),
  watch: [],
  keyPrefix: 'test',
  connections: 4,
  until: { requests: 400 },
  ...more,
});

describe('the load generator', () => {
  let generator: Generator;
  const servers: Server[] = [];

  beforeAll(() => {
    generator = startGenerator();
  });
  afterAll(() => {
    generator.stop();
    for (const server of servers) server.close().closeAllConnections();
  });

  const serve = async (listener: RequestListener): Promise<number> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return (server.address() as AddressInfo).port;
  };

  it('sends exactly the requested number of requests, each with its own key and the same body', async () => {
    const keys = new Set<string | undefined>();
    const bodies = new Set<string>();
    const port = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        keys.add(request.headers['idempotency-key']?.toString());
        bodies.add(body);
        response.end('{}');
      });
    });
    const result = await generator.run(plan(port));
    expect(result).toMatchObject({ succeeded: 400, measured: 400, refused: {}, unanswered: 0 });
    expect(keys.size).toBe(400);
    expect([...bodies]).toEqual([recordBody()]);
  });

  it('counts the answers with an expected status', async () => {
    const port = await serve((_, response) => void response.writeHead(401, { 'Content-Length': 2 }).end('{}'));
    expect(await generator.run(plan(port, { expects: [401, 429] }))).toMatchObject({ succeeded: 400, refused: {} });
  });

  it('counts refused and unanswered requests, and continues', async () => {
    let number = 0;
    const port = await serve((request, response) => {
      number += 1;
      if (number === 10) request.socket.destroy();
      else response.writeHead(number % 2 === 0 ? 503 : 200, { 'Content-Length': 2 }).end('{}');
    });
    const { succeeded, refused, unanswered } = await generator.run(plan(port));
    expect(refused['503']).toBeGreaterThan(100);
    expect(unanswered).toBe(1);
    expect(succeeded + (refused['503'] ?? 0) + unanswered).toBe(400);
  });

  it('reports what was wrong with an answer that it cannot read', async () => {
    const port = await serve((_, response) => void response.writeHead(200).end('{}'));
    const result = await generator.run(plan(port));
    expect(result).toMatchObject({ succeeded: 0, unanswered: 4, firstProblem: 'An answer has no Content-Length.' });
  });

  it("counts every acknowledged request, the drain included, and reports the server's cost", async () => {
    let answered = 0;
    const port = await serve((_, response) => {
      answered += 1;
      response.end('{}');
    });
    const watch = [{ name: 'server', pid: process.pid }];
    const result = await generator.run(plan(port, { until: { durationMs: 200 }, watch }));
    expect(result.succeeded).toBe(answered);
    expect(result.measured).toBeLessThanOrEqual(result.succeeded);
    expect(result.measuredMs).toBeGreaterThanOrEqual(199);
    expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms);
    if (process.platform !== 'linux') return;
    expect(result.cpuMs['server']).toBeGreaterThan(0);
    expect(result.otherCpuMs).toBeGreaterThanOrEqual(0);
  });

  it('sends the requests of a list in turn, and counts answers without the required text', async () => {
    const bodies = new Map<string, number>();
    const port = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        bodies.set(body, (bodies.get(body) ?? 0) + 1);
        response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) }).end(body);
      });
    });
    const result = await generator.run(
      plan(port, {
        requests: ['"yes"', '"no"'].map((body) => ({ method: 'POST', path: '/', body })),
        firstRequest: 0,
        mustSay: 'yes',
      }),
    );
    expect(result.succeeded).toBe(bodies.get('"yes"'));
    expect(result.unlike).toBe(bodies.get('"no"'));
    expect(result.succeeded + result.unlike).toBe(400);
    expect(result.refused).toEqual({});
  });

  it('sends the requests of a list with the headers of each destination', async () => {
    const keys = new Map<string, number>();
    const port = await serve((request, response) => {
      const key = request.headers['x-api-key']?.toString() ?? '';
      keys.set(key, (keys.get(key) ?? 0) + 1);
      response.writeHead(200, { 'Content-Length': 2 }).end('{}');
    });
    const destinations = ['one', 'two'].map((key) => ({ port, path: '/', headers: { 'X-Api-Key': key } }));
    const requests = [{ method: 'GET' as const, path: '/' }];
    expect(await generator.run(plan(1, { destinations, requests }))).toMatchObject({ succeeded: 400 });
    expect([...keys.keys()].toSorted()).toEqual(['one', 'two']);
    expect(Math.min(...keys.values())).toBeGreaterThan(50);
  });

  it('spreads the connections over several destinations in turn', async () => {
    const counts = [0, 0];
    const ports = await Promise.all(
      counts.map((_, number) =>
        serve((request, response) => {
          if (request.headers['x-number'] === String(number) && request.url === `/${number}`) counts[number]! += 1;
          response.writeHead(200, { 'Content-Length': 2 }).end('{}');
        }),
      ),
    );
    const destinations = ports.map((port, number) => ({
      port,
      path: `/${number}`,
      headers: { 'X-Number': `${number}` },
    }));
    const result = await generator.run(plan(1, { destinations }));
    expect(result.succeeded).toBe(400);
    expect(counts[0]! + counts[1]!).toBe(400);
    expect(Math.min(...counts)).toBeGreaterThan(50);
  });

  it('goes on at another server when one announces its end, and comes back', async () => {
    const counts = [0, 0];
    let answered = 0;
    const serveOne = (place: number): Promise<number> =>
      serve((_, response) => {
        answered += 1;
        counts[place]! += 1;
        const closes = place === 0 && answered > 100 && answered <= 400 ? { Connection: 'close' } : {};
        response.writeHead(200, { 'Content-Length': 2, ...closes }).end('{}');
      });
    const ports = [await serveOne(0), await serveOne(1)];
    const destinations = ports.map((port) => ({
      ...{ port, path: '/', headers: {} },
      alsoAt: ports.filter((other) => other !== port),
    }));
    const result = await generator.run(plan(1, { destinations, until: { durationMs: 2_500 } }));
    expect(result).toMatchObject({ succeeded: counts[0]! + counts[1]!, refused: {}, unanswered: 0 });
    // Two of four connections left it for a second out of two and a half: three to seven, if both are as fast.
    expect(counts[0]! / counts[1]!).toBeGreaterThan(0.1);
    expect(counts[0]! / counts[1]!).toBeLessThan(0.9);
  });

  it('counts a request that a server was sent and did not answer before it ended', async () => {
    const dying = await serve((request) => request.socket.destroy());
    const other = await serve((_, response) => void response.writeHead(200, { 'Content-Length': 2 }).end('{}'));
    const destinations = [{ port: dying, alsoAt: [other], path: '/', headers: {} }];
    expect(await generator.run(plan(1, { destinations }))).toMatchObject({ succeeded: 0, unanswered: 4 });
  });

  it('holds a thousand connections', async () => {
    let open = 0;
    const port = await serve((_, response) => void response.writeHead(200, { 'Content-Length': 2 }).end('{}'));
    servers.at(-1)!.on('connection', () => (open += 1));
    const result = await generator.run(plan(port, { connections: 1_000, until: { requests: 3_000 } }));
    expect(result).toMatchObject({ succeeded: 3_000, unanswered: 0 });
    expect(open).toBe(1_000);
  });

  it('sends at a fixed rate, and charges a stalled server for every request that was due', async () => {
    let number = 0;
    const port = await serve((_, response) => {
      number += 1;
      // Each of the four connections stalls once, together for most of half a second.
      setTimeout(() => response.writeHead(200, { 'Content-Length': 2 }).end('{}'), number <= 4 ? 500 : 0);
    });
    const result = await generator.run(plan(port, { until: { requests: 400 }, perSecond: 400 }));
    expect(result).toMatchObject({ succeeded: 400, measured: 400, unanswered: 0 });
    expect(result.measuredMs).toBeGreaterThan(990);
    // About two hundred were due meanwhile: half of all have waited, a quarter for longer than half of it.
    expect(result.p50Ms).toBeGreaterThan(1);
    expect(result.p99Ms).toBeGreaterThan(400);
  });

  it('does not wait for ever for a server that is gone while requests are due', async () => {
    const port = await serve((request) => request.socket.destroy());
    const result = await generator.run(plan(port, { until: { requests: 20 }, perSecond: 1_000 }));
    expect(result).toMatchObject({ succeeded: 0, unanswered: 20 });
  }, 30_000);

  it('reports a port without a listener', async () => {
    await expect(generator.run(plan(1))).rejects.toThrow('could not run');
  });

  it.each<EchoName>(['express-echo', 'express-packages'])('gets its record back from %s', async (name) => {
    const server = await startEchoServer(name, '/dev/null');
    try {
      expect(await generator.run(plan(server.port))).toMatchObject({ succeeded: 400, refused: {}, unanswered: 0 });
      const headers = { 'Content-Type': 'application/json' };
      const url = `http://127.0.0.1:${server.port}/bench`;
      const response = await fetch(url, { method: 'POST', headers, body: recordBody() });
      expect(await response.text()).toBe(recordBody());
    } finally {
      server.stop();
    }
  });
});
