import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SurfaceTarget } from './surface-target.ts';

/** A door on loopback that adds the key, for a client that can send none. */
export interface KeyProxy {
  /** Begins with a part that nobody can guess: the door is open to whoever knows it, and to nobody else. */
  readonly url: string;
  /** Resolves when the door is closed and every connection is gone. */
  close(): Promise<void>;
}

/** What belongs to one connection and is not passed on. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'upgrade', 'proxy-connection'];

/**
 * Passes every request on as it came, Origin included, but for the key, and for the Host where that is the proxy's own.
 * So what the surface says to a foreign Host or Origin is what the client hears.
 */
export async function keyProxy({ url, key }: SurfaceTarget): Promise<KeyProxy> {
  const secret = `/${randomBytes(16).toString('hex')}`;
  const server = createServer((request, response) => {
    if (!request.url?.startsWith(`${secret}/`)) {
      response.writeHead(404).end();
      return;
    }
    const { host = '' } = request.headers;
    const isOwn = host === ownHost();
    const headers = { ...ofMessage(request), host: isOwn ? new URL(url).host : host, authorization: `Bearer ${key}` };
    pass({ request, response, to: new URL(url + request.url.slice(secret.length)), headers });
  });
  const ownHost = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', done);
  });
  return {
    url: `http://${ownHost()}${secret}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function ofMessage({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

interface Passing {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly to: URL;
  readonly headers: NodeJS.Dict<string | string[]>;
}

const ANSWER_WITHIN_MS = 30_000;

function pass({ request, response, to, headers }: Passing): void {
  const send = to.protocol === 'https:' ? httpsRequest : httpRequest;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const onward = send(to, { method: request.method ?? 'GET', headers, signal }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, ofMessage(answer));
    answer.pipe(response);
  });
  onward.once('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  });
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}
