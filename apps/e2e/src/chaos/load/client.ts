import { setTimeout as delay } from 'node:timers/promises';
import type { HeaderLines, HttpAnswer } from '../../harness/http-exchange.ts';
import type { Asked, History, Sent, Surface } from '../history.ts';
import { nowMs } from '../now.ts';
import type { Random } from '../random.ts';
import type { Site } from '../site.ts';
import type { Meter } from './meter.ts';

/** A request as a client means it. */
export interface Asking {
  readonly surface: Surface;
  readonly act: string;
  readonly as: string;
  readonly method?: string;
  readonly path: string;
  readonly headers: HeaderLines;
  readonly body?: string;
  readonly key?: string;
  readonly sent?: Sent;
  /** The admin listener instead of the public one. */
  readonly isAdmin?: boolean;
}

export interface Client {
  /** Sends it once to that replica; undefined where no answer came. Each attempt is a line of the history. */
  ask(asking: Asking, replica: number): Promise<HttpAnswer | undefined>;
  /**
   * Sends the same request, to random replicas, until its outcome is known: 2xx, or a refusal that repeating does not
   * change. Undefined where the time of the run is over before.
   */
  insist(asking: Asking, random: Random): Promise<HttpAnswer | undefined>;
  /** After this moment nobody insists any longer. */
  giveUpAtMs: number;
}

const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 800;

export function openClient(site: Site, history: History, meter: Meter): Client {
  const ask: Client['ask'] = async (asking, replica) => {
    const { surface, act, as, method = 'POST', path, headers, body, key, sent, isAdmin = false } = asking;
    const { process } = site.replicasOf(surface)[replica]!;
    const http = isAdmin ? process.admin : process.public;
    const request = { method, path, headers, timeoutMs: TIMEOUT_MS };
    const startedMs = nowMs();
    const answer = await http.send(body === undefined ? request : { ...request, body }).catch(() => undefined);
    const line: Asked = {
      is: 'asked',
      surface,
      replica,
      act,
      as,
      target: `${method} ${path}`,
      startedMs,
      endedMs: nowMs(),
      ...(key === undefined ? {} : { key }),
      ...(sent === undefined ? {} : { sent }),
      ...(answer === undefined ? {} : toldBy(answer)),
    };
    history.add(line);
    meter.record(line);
    // A replica that is down refuses at once: asked without a pause, it would keep a core busy with refusals.
    if (answer === undefined) await delay(FIRST_PAUSE_MS);
    return answer;
  };
  const client: Client = {
    ask,
    giveUpAtMs: Infinity,
    async insist(asking, random) {
      for (
        let pauseMs = FIRST_PAUSE_MS;
        nowMs() < client.giveUpAtMs;
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      ) {
        const answer = await ask(asking, random.below(site.replicasOf(asking.surface).length));
        if (answer !== undefined && isFinal(answer)) return answer;
        await delay(pauseMs);
      }
      return undefined;
    },
  };
  return client;
}

const toldBy = ({ status, text, headers }: HttpAnswer): Partial<Asked> => ({
  status,
  text,
  ...(headers['idempotent-replayed'] === 'true' ? { replayed: true } : {}),
});

/** A limit, a request in progress and a 5xx but the 500 of a defect are repeated as the documentation says. */
const isFinal = ({ status, text }: HttpAnswer): boolean =>
  status <= 500 && status !== 429 && !text.includes('"IDEMPOTENCY_IN_PROGRESS"');
