import type { JsonValue } from '@sealgate/json';
import type { Connection } from './find-connection.ts';
import { isObject, parseJson, type JsonObject } from './json-object.ts';
import { readAnswer } from './read-answer.ts';
import { Refusal } from './refusal.ts';
import type { UnreachableError } from './unreachable-error.ts';
import { unreachable, unusable } from './unreachable.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/admin/v1`, made with `apiPath`. */
  readonly path: string;
  /** Parameters that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: JsonValue;
}

/** A JSON answer: as it came, for `--json`, and as an object, for people. */
export interface JsonAnswer {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * One admin API. Each call is one request, without retries, and ends within the time limit.
 * Throws Refusal when the API says no, UnreachableError when there is no answer to go by.
 */
export interface AdminApi {
  json(call: Call): Promise<JsonAnswer>;
  /** An answer that is plain text. */
  text(call: Call): Promise<string>;
  /** A call that is answered without a body. */
  nothing(call: Call): Promise<void>;
}

export function adminApi(connection: Connection, timeoutMs: number): AdminApi {
  const send = (call: Call): Promise<string> => request(connection, call, timeoutMs);
  return {
    json: async (call) => {
      const text = await send(call);
      const value = parseJson(text);
      if (!isObject(value)) throw notAnAdminApi(connection, call, 'Its answer is not a JSON object.');
      return { text, value };
    },
    text: send,
    nothing: async (call) => {
      await send(call);
    },
  };
}

async function request(connection: Connection, call: Call, timeoutMs: number): Promise<string> {
  const { response, body } = await exchange(connection, call, timeoutMs);
  if (response.ok) return body;
  const { status, headers } = response;
  const problem = parseJson(body);
  if (isObject(problem) && typeof problem['code'] === 'string') throw new Refusal(problem, { status, headers, body });
  throw notAnAdminApi(connection, call, `It answered ${status} without a problem document.`);
}

async function exchange(connection: Connection, call: Call, timeoutMs: number): Promise<Exchanged> {
  const { method, body } = call;
  try {
    const response = await fetch(urlOf(connection, call), {
      method,
      headers: {
        Accept: 'application/json, application/problem+json, text/plain',
        Authorization: `Bearer ${connection.token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      // Whoever redirects is not to be given the token, so the redirect itself is the answer.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { response, body: await readAnswer(response) };
  } catch (error) {
    throw unreachable(error, { url: connection.url, timeoutMs, changes: changes(call) });
  }
}

interface Exchanged {
  readonly response: Response;
  readonly body: string;
}

function urlOf({ url }: Connection, { path, query = {} }: Call): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  return `${url}/admin/v1${path}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

function notAnAdminApi({ url }: Connection, call: Call, why: string): UnreachableError {
  return unusable(`What answers at ${url} is not an admin API. ${why}`, changes(call));
}

function changes({ method }: Call): boolean {
  return method !== 'GET';
}
