import type { HttpClient } from './http-client.ts';
import type { HttpAnswer } from './http-exchange.ts';

export type Members = Readonly<Record<string, unknown>>;

/** A client of the admin API with a valid token. */
export interface AdminClient {
  send(method: string, path: string, body?: unknown): Promise<HttpAnswer>;
  get(path: string): Promise<HttpAnswer>;
  /** The members of a 2xx answer. Throws for any other. */
  ask(method: string, path: string, body?: unknown): Promise<Members>;
}

/** `path` is the part after `/admin/v1`. */
export function adminClient(http: HttpClient, token: string): AdminClient {
  const send = (method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
    http.send({
      method,
      path: `/admin/v1${path}`,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: 60_000,
    });
  return {
    send,
    get: (path) => send('GET', path),
    async ask(method, path, body) {
      const answer = await send(method, path, body);
      if (answer.status > 299) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
      return membersOf(answer.body ?? {});
    },
  };
}

/** Throws unless the value is a JSON object. */
export function membersOf(value: unknown): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('This is no JSON object.');
  return value as Members; // The type claims nothing about its members.
}
