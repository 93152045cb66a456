import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; undefined where there is none. */
  readonly json: unknown;
}

export interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly rawBody?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpCaller {
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  get(path: string, key?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): void;
}

/** Sends requests over connections that are kept; gives back exactly what came. */
export function httpCaller(baseUrl: string): HttpCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const send: HttpCaller['send'] = (method, path, { key, body, rawBody, headers = {} } = {}) => {
    const payload = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const url = new URL(baseUrl);
    const options = {
      agent,
      method,
      host: url.hostname,
      port: url.port,
      path,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
        ...headers,
      },
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = /json/.test(response.headers['content-type'] ?? '') && text !== '';
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      });
      request.on('error', reject);
      request.end(payload);
    });
  };
  return {
    send,
    get: (path, key, headers) =>
      send('GET', path, { ...(key === undefined ? {} : { key }), ...(headers && { headers }) }),
    close: () => agent.destroy(),
  };
}
