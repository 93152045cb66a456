import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../start/user-error.ts';

/** The public API of surface A, as far as the demo data is written through it. */
export interface RiskApi {
  /** Adds to a collection; gives the id. */
  create(collection: string, body: object): Promise<string>;
  transition(evidenceId: string, body: object): Promise<void>;
  /** The same, for a review: false where this caller has collected what is to be reviewed. */
  review(evidenceId: string, body: object): Promise<boolean>;
}

const deadlineMs = 15_000;
const mostTries = 20;

/** Throws UserError when it is refused, or gives no answer. It waits where the limits say so. */
export function riskApi(url: string, key: string): RiskApi {
  const post = async (path: string, body: object): Promise<{ status: number; id: string }> => {
    for (let tries = 1; ; tries += 1) {
      const { status, headers, members } = await send(`${url}${path}`, key, body);
      if (status < 300) return { status, id: String(members['id']) };
      if (status === 403) return { status, id: '' };
      const seconds = Number(headers.get('retry-after') ?? 0);
      if ((status !== 429 && status !== 503) || tries === mostTries)
        throw new UserError(
          `The demo data could not be made: ${String(members['code'])}. ${String(members['detail'])}`,
        );
      await delay(seconds * 1000);
    }
  };
  return {
    create: async (collection, body) => (await post(`/api/${collection}`, body)).id,
    transition: async (id, body) => void (await post(`/api/evidence/${id}/transitions`, body)),
    review: async (id, body) => (await post(`/api/evidence/${id}/transitions`, body)).status < 300,
  };
}

async function send(url: string, key: string, body: object) {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const members = (await response.json()) as Readonly<Record<string, unknown>>; // Every answer to a POST is an object.
    return { status: response.status, headers: response.headers, members };
  } catch (error) {
    throw new UserError(`The API at ${url} gave no answer.`, { cause: error });
  }
}
