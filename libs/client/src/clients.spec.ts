import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ingestGateway, ledgerPeer, riskPartner } from './index.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const open: (() => void)[] = [];
afterEach(() => open.splice(0).forEach((close) => close()));

async function serving(answer: Answer): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = (response: ServerResponse, status: number, body: object, type = 'application/json') =>
  response.writeHead(status, { 'content-type': type, connection: 'close' }).end(JSON.stringify(body));

describe('a client of a surface', () => {
  it('sends requests below its base URL, with headers, an encoded path and the query', async () => {
    const seen: (string | undefined)[] = [];
    const url = await serving((request, response) => {
      seen.push(request.method, request.url, request.headers['x-api-key'] as string);
      json(response, 200, { asset: { id: 'a/b' } });
    });
    const peer = ledgerPeer({ baseUrl: `${url}/api/ledger-peer`, headers: { 'X-Api-Key': 'k' } });
    const { data, error } = await peer.GET('/api/assets/{id}', {
      params: { path: { id: 'a/b' }, query: { type: 'asset' } },
    });
    expect(error).toBeUndefined();
    expect(data).toEqual({ asset: { id: 'a/b' } });
    expect(seen).toEqual(['GET', '/api/ledger-peer/api/assets/a%2Fb?type=asset', 'k']);
  });

  it('returns the problem of a refusal, with the headers of the answer', async () => {
    const problem = {
      type: 'urn:sealgate:problem:rate-limited',
      title: 'Slow down',
      status: 429,
      code: 'RATE_LIMITED',
    };
    const url = await serving((_, response) => {
      response.setHeader('retry-after', '3');
      json(response, 429, problem, 'application/problem+json');
    });
    const { data, error, response } = await riskPartner({ baseUrl: url, retry: false }).GET('/api/risks');
    expect(data).toBeUndefined();
    expect(error).toEqual(problem);
    expect(response.headers.get('retry-after')).toBe('3');
  });

  it.each<[string, Answer]>([
    ['a page', (_, response) => response.writeHead(502, 'Bad Gateway', { connection: 'close' }).end('<html>')],
    ['JSON of another kind', (_, response) => json(response, 502, { message: 'no' })],
    ['nothing', (_, response) => response.writeHead(502, { connection: 'close' }).end()],
    ['an oversized body', (_, response) => response.writeHead(502, { connection: 'close' }).end('x'.repeat(1e6))],
  ])('returns a problem without a code if an intermediary answers with %s', async (_, answer) => {
    const { error } = await riskPartner({ baseUrl: await serving(answer), retry: false }).GET('/api/risks');
    expect(error).toEqual({ type: 'about:blank', title: 'Bad Gateway', status: 502 });
  });

  it('sends a change once, as JSON, and returns the answer', async () => {
    const bodies: string[] = [];
    const url = await serving((request, response) => {
      request.setEncoding('utf8');
      let text = '';
      request.on('data', (part: string) => (text += part));
      request.on('end', () => {
        bodies.push(`${request.headers['content-type']} ${text}`);
        json(response, 200, { ok: true });
      });
    });
    const gateway = ingestGateway({ baseUrl: url });
    const { response } = await gateway.POST('/{networkId}', {
      params: { path: { networkId: 'demo' } },
      body: { type: 'ping' },
    });
    expect(response.status).toBe(200);
    expect(bodies).toEqual(['application/json {"type":"ping"}']);
  });
});
