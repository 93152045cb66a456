import type { HttpClient } from './http-client.ts';
import type { HeaderLines, HttpAnswer } from './http-exchange.ts';

export interface Sending {
  readonly idempotencyKey?: string | readonly string[];
  /** Replaces or adds headers; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly timeoutMs?: number;
}

/** A sender of records: posts to its network with its key. */
export interface Sender {
  /** A string or Buffer is sent as it is, anything else as JSON. */
  post(body: unknown, how?: Sending): Promise<HttpAnswer>;
}

export function sender(http: HttpClient, networkId: string, rawKey: string): Sender {
  return {
    post(body, { idempotencyKey, headers = {}, timeoutMs } = {}) {
      const all = {
        'X-Api-Key': rawKey,
        'Content-Type': 'application/json',
        'Idempotency-Key': idempotencyKey,
        ...headers,
      };
      const lines: HeaderLines = Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      );
      return http.send({
        method: 'POST',
        path: `/${networkId}`,
        headers: lines,
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
    },
  };
}
