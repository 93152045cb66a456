import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received request. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string unchanged. */
  readonly body?: object | string;
}

export type Answer = (request: Seen) => Reply | 'cut' | 'silence';

/** A stub HTTP server for an admin API, which records its requests. */
export interface StandInApi {
  readonly url: string;
  /** The environment for the command line. */
  readonly env: Readonly<Record<string, string>>;
  readonly seen: Seen[];
  /** Sets the response from now on; clears recorded requests. */
  answer(with_: Answer): void;
  close(): Promise<void>;
}

export async function standInApi(): Promise<StandInApi> {
  const seen: Seen[] = [];
  let answer: Answer = () => ({ status: 500 });
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const one = { method: request.method ?? '', path: request.url ?? '', body, headers: request.headers };
      seen.push(one);
      const reply = answer(one);
      if (reply === 'silence') return;
      if (reply === 'cut') {
        request.socket.destroy();
        return;
      }
      const { status = 200, headers = {}, body: sent = '' } = reply;
      const isText = typeof sent === 'string';
      const type = isText ? 'text/plain' : status >= 400 ? 'application/problem+json' : 'application/json';
      response.writeHead(status, { 'Content-Type': type, ...headers });
      response.end(isText ? sent : JSON.stringify(sent));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // A listening TCP server has an address and a port.
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    env: { SEALGATE_ADMIN_URL: url, SEALGATE_ADMIN_TOKEN: 't' },
    seen,
    answer: (next) => {
      answer = next;
      seen.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** A problem document like those of the admin API. */
export function problem(status: number, code: string, more: object = {}): Reply {
  const type = `urn:sealgate:problem:${code.toLowerCase().replaceAll('_', '-')}`;
  const members = {
    type,
    title: 'Title.',
    status,
    detail: 'It cannot be.',
    instance: 'urn:request:req-1',
    code,
    ...more,
  };
  return { status, headers: { 'X-Request-Id': 'req-1' }, body: members };
}
