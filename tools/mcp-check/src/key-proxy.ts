import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SurfaceTarget } from './surface-target.ts';

/** A reverse proxy on loopback that adds the key, for a client that cannot send a header. */
export interface KeyProxy {
  /** Its path starts with a random secret; requests without it get 404. */
  readonly url: string;
  /** Resolves once the server and all its connections are closed. */
  close(): Promise<void>;
}

/** Headers of one connection, which a proxy does not forward. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'upgrade', 'proxy-connection'];

/**
 * Forwards each request unchanged, Origin included, except that it sets Authorization, and replaces Host if that is the
 * proxy's own. So the client sees how the surface answers a foreign Host or Origin.
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
    const headers = { ...forwardable(request), host: isOwn ? new URL(url).host : host, authorization: `Bearer ${key}` };
    forward({ request, response, to: new URL(url + request.url.slice(secret.length)), headers });
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

function forwardable({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

interface Forwarding {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly to: URL;
  readonly headers: NodeJS.Dict<string | string[]>;
}

const ANSWER_WITHIN_MS = 30_000;

function forward({ request, response, to, headers }: Forwarding): void {
  const send = to.protocol === 'https:' ? httpsRequest : httpRequest;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const onward = send(to, { method: request.method ?? 'GET', headers, signal }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, forwardable(answer));
    answer.pipe(response);
  });
  onward.once('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  });
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}
