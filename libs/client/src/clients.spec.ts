import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  caseGate,
  caseGateAdmin,
  InexactNumberError,
  ingestGateway,
  ingestGatewayAdmin,
  ledgerPeer,
  ledgerPeerAdmin,
  plainClient,
  riskPartner,
  riskPartnerAdmin,
  type Routes,
} from './index.ts';

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

  it('of several listeners behind one address sends each call once, without a key', async () => {
    const seen: string[] = [];
    const url = await serving((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['idempotency-key']}`);
      json(response, 503, {});
    });
    type Both = {
      [Path in keyof Routes['riskPartner'] as `/risks${Path}`]: Routes['riskPartner'][Path];
    } & { [Path in keyof Routes['ledgerPeer'] as `/peer${Path}`]: Routes['ledgerPeer'][Path] };
    const both = plainClient<Both>({ baseUrl: url });
    await both.GET('/risks/api/heat-map');
    await both.POST('/peer/api/assets', { body: { assets: [] } });
    expect(seen).toEqual(['GET /risks/api/heat-map undefined', 'POST /peer/api/assets undefined']);
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

describe('numbers of an answer', () => {
  const answering = (text: string) =>
    serving((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', connection: 'close' }).end(text);
    });
  const LARGE =
    '{"asset":{"id":"a","data":{"n":9007199254740993,"m":[-820982911946154508,7],"text":"9007199254740993"}}}';
  const path = { params: { path: { id: 'a' } } };

  it('are exact, or the call throws and names the number', async () => {
    const call = ledgerPeer({ baseUrl: await answering(LARGE) }).GET('/api/assets/{id}', path);
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(InexactNumberError);
    expect(error).toMatchObject({ pointer: '/asset/data/n', number: '9007199254740993' });
    expect(await (error as InexactNumberError).response.text()).toBe(LARGE);
    const exact = ledgerPeer({ baseUrl: await answering('{"n":9007199254740991,"x":0.1}') });
    expect((await exact.GET('/api/assets/{id}', path)).data).toEqual({ n: 9007199254740991, x: 0.1 });
  });

  it.each([riskPartner, riskPartnerAdmin, caseGate, caseGateAdmin, ledgerPeerAdmin, ingestGateway, ingestGatewayAdmin])(
    'are never rounded by the client of any listener (%p)',
    async (clientOf) => {
      const client = clientOf({ baseUrl: await answering('[9007199254740993]') });
      await expect(client.GET('/api/risks')).rejects.toThrow(InexactNumberError);
    },
  );

  it('become BigInt if asked for, but only integers', async () => {
    const peer = ledgerPeer({ baseUrl: await answering(LARGE), largeIntegers: 'bigint' });
    const { data, response } = await peer.GET('/api/assets/{id}', path);
    expect(data).toEqual({
      asset: { id: 'a', data: { n: 9007199254740993n, m: [-820982911946154508n, 7], text: '9007199254740993' } },
    });
    expect(new URL(response.url).pathname).toBe('/api/assets/a');
    const huge = ledgerPeer({ baseUrl: await answering('{"n":1e400}'), largeIntegers: 'bigint' });
    await expect(huge.GET('/api/assets/{id}', path)).rejects.toMatchObject({ pointer: '/n', number: '1e400' });
  });

  it('stay text for callers who read the text themselves', async () => {
    const peer = ledgerPeer({ baseUrl: await answering(LARGE) });
    expect((await peer.GET('/api/assets/{id}', { ...path, parseAs: 'text' })).data).toBe(LARGE);
  });
});
