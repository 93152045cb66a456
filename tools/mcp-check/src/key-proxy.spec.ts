import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyProxy, type KeyProxy } from './key-proxy.ts';

let surface: Server;
let proxy: KeyProxy;
const received: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  surface = createServer((asked, answer) => {
    void text(asked).then((body) => {
      received.push({ method: String(asked.method), url: String(asked.url), headers: asked.headers, body });
      answer.writeHead(201, { 'X-Shown': 'yes' }).end('answered');
    });
  });
  await new Promise<void>((done) => surface.listen(0, '127.0.0.1', done));
  proxy = await keyProxy({ url: `http://127.0.0.1:${portOf(surface)}`, key: 'svc_key' });
});
afterAll(async () => {
  await proxy.close();
  surface.close();
});

function send(url: string, { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {}) {
  return new Promise<{ status: number; shown: unknown; body: string }>((done, failed) => {
    const sent = request(url, { method: 'POST', headers }, (answer) => {
      const { statusCode: status = 0, headers: shown } = answer;
      text(answer).then((said) => done({ status, shown: shown['x-shown'], body: said }), failed);
    });
    sent.once('error', failed);
    sent.end(body);
  });
}

describe('the proxy that adds the key', () => {
  it('forwards request and response, with the key', async () => {
    const headers = { origin: 'http://page.example', authorization: 'Bearer of-the-client' };
    const answer = await send(`${proxy.url}/mcp?x=1`, { headers, body: '{"a":1}' });
    expect(answer).toEqual({ status: 201, shown: 'yes', body: 'answered' });
    const last = received.at(-1)!;
    expect(last).toMatchObject({ method: 'POST', url: '/mcp?x=1', body: '{"a":1}' });
    expect(last.headers).toMatchObject({
      authorization: 'Bearer svc_key',
      host: `127.0.0.1:${portOf(surface)}`,
      origin: 'http://page.example',
    });
  });

  it('forwards a foreign Host unchanged, for the surface to reject', async () => {
    await send(`${proxy.url}/mcp`, { headers: { host: 'evil.example' } });
    expect(received.at(-1)!.headers.host).toBe('evil.example');
  });

  it('answers 404 to requests without the secret', async () => {
    const before = received.length;
    const { origin } = new URL(proxy.url);
    for (const url of [`${origin}/mcp`, `${origin}/`, `${proxy.url}x/mcp`, proxy.url])
      expect((await send(url)).status).toBe(404);
    expect(received).toHaveLength(before);
  });

  it('answers 502 if the surface is unreachable, and refuses connections once closed', async () => {
    const nowhere = await keyProxy({ url: 'http://127.0.0.1:1', key: 'k' });
    expect((await send(`${nowhere.url}/mcp`)).status).toBe(502);
    await nowhere.close();
    await expect(send(`${nowhere.url}/mcp`)).rejects.toMatchObject({
      code: expect.stringMatching(/^ECONN(?:REFUSED|RESET)$/),
    });
  });
});
