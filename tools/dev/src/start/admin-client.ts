import { isKeyValid, type KeyEnd } from '@sealgate/auth/key-state';
import type { Secrets } from './secrets.ts';
import { UserError } from './user-error.ts';

interface AdminAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AdminClient {
  get(path: string): Promise<AdminAnswer>;
  post(path: string, body: unknown): Promise<AdminAnswer>;
  patch(path: string, body: unknown): Promise<AdminAnswer>;
  delete(path: string): Promise<AdminAnswer>;
}

const deadlineMs = 15_000;

/** The admin API of a running surface. Paths are relative to `/admin/v1`. @throws UserError if it does not answer. */
export function adminClient(adminUrl: string, token: string): AdminClient {
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<AdminAnswer> => {
    try {
      const response = await fetch(`${adminUrl}/admin/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        signal: AbortSignal.timeout(deadlineMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: membersOf(await response.text()) };
    } catch (error) {
      throw new UserError(`The admin API at ${adminUrl} did not answer ${method} ${path}.`, { cause: error });
    }
  };
  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body),
    delete: (path) => send('DELETE', path),
  };
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

/** A string member of a response. @throws UserError with the problem's detail if the request failed. */
export function textOf({ status, body }: AdminAnswer, member: string): string {
  const value = body[member];
  if (status < 300 && typeof value === 'string') return value;
  throw new UserError(
    `The demo data could not be created: ${String(body['code'] ?? status)}. ${String(body['detail'] ?? '')}`.trim(),
  );
}

interface DemoKey {
  /** The name of the stored secret; the key's id is stored as `<name>Id`. */
  readonly name: string;
  /** The collection of keys. */
  readonly path: string;
  readonly order: object;
}

/** The key of an earlier start, unless it has ended or the database was removed; else a new one. */
export async function demoKey(
  { admin, secrets }: { readonly admin: AdminClient; readonly secrets: Secrets },
  { name, path, order }: DemoKey,
): Promise<string> {
  const idName = `${name}Id`;
  const [known, id] = [secrets.recall(name), secrets.recall(idName)];
  if (known !== undefined && id !== undefined) {
    const { status, body } = await admin.get(`${path}/${id}`);
    if (status === 200 && isKeyValid(body as unknown as KeyEnd, Date.now())) return known;
  }
  const minted = await admin.post(path, order);
  const rawKey = textOf(minted, 'rawKey');
  secrets.remember(name, rawKey);
  secrets.remember(idName, textOf(minted, 'id'));
  return rawKey;
}
