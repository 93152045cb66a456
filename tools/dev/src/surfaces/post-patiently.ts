import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../start/user-error.ts';

export interface Posted {
  readonly status: number;
  readonly members: Readonly<Record<string, unknown>>;
  /** Whether an earlier attempt was answered 503: it may have had its effect. */
  readonly mayRepeat: boolean;
}

const deadlineMs = 15_000;
const mostTries = 20;

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  /** A text is sent as it is. */
  readonly body: object | string;
  readonly method?: string;
}

/** Sends demo data, and retries when rate limited. @throws UserError if it gets no response, or too many rejections. */
export async function postPatiently(url: string, { headers, body, method = 'POST' }: Sent): Promise<Posted> {
  let mayRepeat = false;
  for (let tries = 1; ; tries += 1) {
    const { status, retryAfter, members } = await send(url, { headers, body, method });
    if (status !== 429 && status !== 503) return { status, members, mayRepeat };
    mayRepeat ||= status === 503;
    if (tries === mostTries) throw refused(members);
    await delay(retryAfter * 1000);
  }
}

/** @throws UserError for an unsuccessful response. */
export function expectMade({ status, members }: Pick<Posted, 'status' | 'members'>): Posted['members'] {
  if (status < 300) return members;
  throw refused(members);
}

const refused = ({ code, detail, errors }: Posted['members']): UserError =>
  new UserError(
    `The demo data could not be created: ${String(code)}. ${String(detail)} ${errors === undefined ? '' : JSON.stringify(errors)}`.trim(),
  );

async function send(url: string, { headers, body, method }: Required<Sent>) {
  try {
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const members = (await response.json()) as Posted['members']; // Every response to a POST is an object.
    return { status: response.status, retryAfter: Number(response.headers.get('retry-after') ?? 0), members };
  } catch (error) {
    throw new UserError(`The API at ${url} did not answer.`, { cause: error });
  }
}

/** Runs `work` for each item, with one concurrent loop per worker. Results are in the order of the items. */
export async function inParallel<Worker, Item, Result>(
  workers: readonly Worker[],
  items: readonly Item[],
  work: (worker: Worker, item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const busy = async (worker: Worker): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(worker, items[index]!, index);
  };
  await Promise.all(workers.map(busy));
  return results;
}

/** Item of an endlessly repeated list. */
export const pick = <Item>(items: readonly Item[], index: number): Item => items[index % items.length]!;

/** Deterministic pseudo-random numbers from 0 to `below`, exclusive. */
export const spread = (index: number, below: number): number => (((index + 1) * 2_654_435_761) % 4_294_967_296) % below;
