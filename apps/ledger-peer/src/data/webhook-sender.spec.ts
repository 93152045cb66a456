import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { certificateAuthority } from '@sealgate/testing/fabric';
import { Webhook as Verifier } from 'standardwebhooks';
import { parseNetworks } from './receiver-address.ts';
import { webhookSender } from './webhook-sender.ts';

const NEVER = new AbortController().signal;
const SECRETS = ['k', 'l'].map((letter) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`);
const loopback = parseNetworks('127.0.0.1/32');
const nothing = parseNetworks('192.0.2.99/32');
const closing: (() => void)[] = [];
let authority: ReturnType<typeof certificateAuthority>;
beforeAll(() => {
  authority = certificateAuthority('receivers');
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A receiver on loopback under a name that its certificate has, `localhost`. */
async function receiver(answer: Answer = (_request, response) => void response.writeHead(204).end()) {
  const requests: { headers: IncomingMessage['headers']; url: string | undefined; body: string }[] = [];
  const { cert, key } = authority.issue('receiver', { loopback: true });
  const server = createServer({ cert, key }, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      requests.push({ headers: request.headers, url: request.url, body });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { requests, port: (server.address() as AddressInfo).port };
}

const sender = (more: Partial<Parameters<typeof webhookSender>[0]> = {}) =>
  webhookSender({
    allowed: loopback,
    resolve: async () => ['127.0.0.1'],
    now: Date.now,
    withinMs: 2000,
    ca: authority.cert,
    ...more,
  });
const to = (url: string) => ({ url, id: 'evt', body: '{"type":"commit"}', secrets: SECRETS });

describe('a webhook', () => {
  it('is verified with either secret by the library of the standard, and says where it goes', async () => {
    const { requests, port } = await receiver();
    expect(await sender()(to(`https://localhost:${port}/in?a=b`), NEVER)).toBeUndefined();
    const [request] = requests;
    expect(request).toMatchObject({
      url: '/in?a=b',
      headers: { host: `localhost:${port}`, 'webhook-id': 'evt', 'content-type': 'application/json' },
    });
    const headers = request!.headers as Record<string, string>;
    for (const secret of SECRETS)
      expect(new Verifier(secret).verify(request!.body, headers)).toEqual({ type: 'commit' });
    const other = `whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`;
    expect(() => new Verifier(other).verify(request!.body, headers)).toThrow();
    expect(() => new Verifier(SECRETS[0]!).verify(`${request!.body} `, headers)).toThrow();
  });

  it('is signed as the example of the standard', async () => {
    const { requests, port } = await receiver();
    const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
    const example = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', secrets };
    await sender({ now: () => 1_614_265_330_999 })({ url: `https://localhost:${port}/`, ...example }, NEVER);
    expect(requests[0]?.headers).toMatchObject({
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it.each([301, 302, 307, 308])('is not sent on by a redirect: %i', async (status) => {
    const other = await receiver();
    const { port } = await receiver((_request, response) =>
      response.writeHead(status, { Location: `https://localhost:${other.port}/` }).end(),
    );
    expect(await sender()(to(`https://localhost:${port}/`), NEVER)).toBe('redirect');
    expect(other.requests).toEqual([]);
  });

  it.each([400, 401, 404, 410, 429, 500, 503])('is not acknowledged by a %i', async (status) => {
    const { port } = await receiver((_request, response) => response.writeHead(status).end('no'));
    expect(await sender()(to(`https://localhost:${port}/`), NEVER)).toBe('status');
  });

  it('goes to the address that was looked up once, whatever the name says a moment later', async () => {
    const { requests, port } = await receiver();
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    let asked = 0;
    const send = sender({ resolve: async () => answers[(asked += 1) - 1]! });
    expect(await send(to(`https://localhost:${port}/`), NEVER)).toBeUndefined();
    expect(await send(to(`https://localhost:${port}/`), NEVER)).toBe('address_refused');
    expect([asked, requests.length]).toEqual([2, 1]);
  });

  it('goes to no address that is not public, whatever the name', async () => {
    const { requests, port } = await receiver();
    const send = sender({ allowed: nothing });
    for (const host of ['localhost', '127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0'])
      expect(await send(to(`https://${host}:${port}/`), NEVER)).toBe('address_refused');
    const mapped = sender({ allowed: nothing, resolve: async () => ['::ffff:127.0.0.1'] });
    expect(await mapped(to(`https://hooks.example.com:${port}/`), NEVER)).toBe('address_refused');
    expect(requests).toEqual([]);
  });

  it('is not sent to a server whose certificate is of another name, or of nobody known', async () => {
    const { requests, port } = await receiver();
    expect(await sender()(to(`https://hooks.example.com:${port}/`), NEVER)).toBe('certificate_refused');
    expect(await sender({ ca: certificateAuthority('others').cert })(to(`https://localhost:${port}/`), NEVER)).toBe(
      'certificate_refused',
    );
    expect(requests).toEqual([]);
  });

  it('is not sent to what speaks no TLS, or does not listen', async () => {
    const plain = createPlainServer((_request, response) => void response.end());
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as AddressInfo;
    expect(await sender()(to(`https://localhost:${port}/`), NEVER)).toBe('no_answer');
    await new Promise((resolve) => plain.close(resolve));
    expect(await sender()(to(`https://localhost:${port}/`), NEVER)).toBe('no_answer');
  });

  it('ends in time at a receiver that does not answer, and at a name that does not resolve', async () => {
    const { port } = await receiver(() => undefined);
    expect(await sender({ withinMs: 200 })(to(`https://localhost:${port}/`), NEVER)).toBe('no_answer');
    const { promise } = Promise.withResolvers<string[]>();
    expect(await sender({ withinMs: 50, resolve: () => promise })(to('https://x.example/'), NEVER)).toBe('no_address');
    const fails = async () => Promise.reject(new Error('ENOTFOUND'));
    expect(await sender({ resolve: fails })(to('https://x.example/'), NEVER)).toBe('no_address');
  });

  it('is acknowledged by the status, and an endless answer is cut', async () => {
    let sent = 0;
    const { port } = await receiver((_request, response) => {
      response.writeHead(200);
      const more = (): void => {
        sent += 1;
        if (!response.destroyed && sent < 10_000) response.write('x'.repeat(1000), () => setImmediate(more));
      };
      more();
    });
    expect(await sender()(to(`https://localhost:${port}/`), NEVER)).toBeUndefined();
    expect(sent).toBeLessThan(10_000);
  });
});
