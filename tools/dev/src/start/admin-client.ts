import { UserError } from './user-error.ts';

export interface AdminAnswer {
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

/** The admin API of a surface that runs. Paths begin after `/admin/v1`. Throws UserError when it gives no answer at all. */
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
      throw new UserError(`The admin API at ${adminUrl} gave no answer to ${method} ${path}.`, { cause: error });
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

/** The text member of an answer. Throws UserError, with the problem's own sentence, when the answer is another one. */
export function textOf({ status, body }: AdminAnswer, member: string): string {
  const value = body[member];
  if (status < 300 && typeof value === 'string') return value;
  throw new UserError(
    `The demo data could not be made: ${String(body['code'] ?? status)}. ${String(body['detail'] ?? '')}`.trim(),
  );
}
