import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../start/user-error.ts';

export interface Posted {
  readonly status: number;
  readonly members: Readonly<Record<string, unknown>>;
}

const deadlineMs = 15_000;
const mostTries = 20;

/** Sends demo data, and waits where the limits say so. Throws UserError when it gives no answer, or never takes it. */
export async function postPatiently(
  url: string,
  { headers, body, method = 'POST' }: { headers: Readonly<Record<string, string>>; body: object; method?: string },
): Promise<Posted> {
  for (let tries = 1; ; tries += 1) {
    const { status, retryAfter, members } = await send(url, { headers, body, method });
    if (status !== 429 && status !== 503) return { status, members };
    if (tries === mostTries) throw refused(members);
    await delay(retryAfter * 1000);
  }
}

/** Throws UserError for an answer that is no success. */
export function expectMade({ status, members }: Posted): Posted['members'] {
  if (status < 300) return members;
  throw refused(members);
}

const refused = ({ code, detail, errors }: Posted['members']): UserError =>
  new UserError(
    `The demo data could not be made: ${String(code)}. ${String(detail)} ${errors === undefined ? '' : JSON.stringify(errors)}`.trim(),
  );

async function send(
  url: string,
  { headers, body, method }: { headers: Readonly<Record<string, string>>; body: object; method: string },
) {
  try {
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const members = (await response.json()) as Posted['members']; // Every answer to a POST is an object.
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after') ?? 0), members };
  } catch (error) {
    throw new UserError(`The API at ${url} gave no answer.`, { cause: error });
  }
}
