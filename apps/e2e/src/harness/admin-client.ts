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

/** Every item of an admin list, page by page. Throws when a page is malformed, or the list does not end. */
export async function listAll(admin: AdminClient, path: string, limit = 200): Promise<Members[]> {
  const items: Members[] = [];
  const separator = path.includes('?') ? '&' : '?';
  for (let cursor = '', pages = 0; pages < 1_000; pages += 1) {
    const page = await admin.ask('GET', `${path}${separator}limit=${limit}${cursor}`);
    if (!Array.isArray(page['items'])) throw new Error(`${path} did not answer with a list.`);
    items.push(...page['items'].map(membersOf));
    if (page['nextCursor'] === null) return items;
    cursor = `&cursor=${encodeURIComponent(String(page['nextCursor']))}`;
  }
  throw new Error(`${path} does not end.`);
}

/** The number of records in a channel, as the ledger reports it. */
export async function ledgerSize(admin: AdminClient, channel: string): Promise<number> {
  const rows = await listAll(admin, '/ledger/channels');
  return Number(rows.find((row) => row['channel'] === channel)?.['size'] ?? Number.NaN);
}
