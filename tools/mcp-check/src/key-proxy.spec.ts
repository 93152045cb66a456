import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyProxy, type KeyProxy } from './key-proxy.ts';

let surface: Server;
let door: KeyProxy;
const met: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
const portOf = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  surface = createServer((asked, answer) => {
    void text(asked).then((body) => {
      met.push({ method: String(asked.method), url: String(asked.url), headers: asked.headers, body });
      answer.writeHead(201, { 'X-Shown': 'yes' }).end('answered');
    });
  });
  await new Promise<void>((done) => surface.listen(0, '127.0.0.1', done));
  door = await keyProxy({ url: `http://127.0.0.1:${portOf(surface)}`, key: 'svc_key' });
});
afterAll(async () => {
  await door.close();
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

describe('the door that adds the key', () => {
  it('passes request and answer on, under the key', async () => {
    const headers = { origin: 'http://page.example', authorization: 'Bearer of-the-client' };
    const answer = await send(`${door.url}/mcp?x=1`, { headers, body: '{"a":1}' });
    expect(answer).toEqual({ status: 201, shown: 'yes', body: 'answered' });
    const last = met.at(-1)!;
    expect(last).toMatchObject({ method: 'POST', url: '/mcp?x=1', body: '{"a":1}' });
    expect(last.headers).toMatchObject({
      authorization: 'Bearer svc_key',
      host: `127.0.0.1:${portOf(surface)}`,
      origin: 'http://page.example',
    });
  });

  it('leaves a Host that is not its own as it is, for the surface to refuse', async () => {
    await send(`${door.url}/mcp`, { headers: { host: 'evil.example' } });
    expect(met.at(-1)!.headers.host).toBe('evil.example');
  });

  it('is shut to who does not know its whole address', async () => {
    const before = met.length;
    const { origin } = new URL(door.url);
    for (const url of [`${origin}/mcp`, `${origin}/`, `${door.url}x/mcp`, door.url])
      expect((await send(url)).status).toBe(404);
    expect(met).toHaveLength(before);
  });

  it('says 502 where nothing answers behind it, and is gone once closed', async () => {
    const nowhere = await keyProxy({ url: 'http://127.0.0.1:1', key: 'k' });
    expect((await send(`${nowhere.url}/mcp`)).status).toBe(502);
    await nowhere.close();
    await expect(send(`${nowhere.url}/mcp`)).rejects.toMatchObject({
      code: expect.stringMatching(/^ECONN(?:REFUSED|RESET)$/),
    });
  });
});
