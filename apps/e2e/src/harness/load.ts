import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer } from './http-exchange.ts';
import { betweenOrders } from './scale.ts';
import type { Sender } from './sender.ts';

/** The write of one sender, repeated until it is answered. */
interface Order {
  readonly idempotencyKey: string;
  readonly body: string;
}

/** One answer, or why there was none. */
export interface Attempt {
  readonly order: Order;
  /** The index of the target that was asked. */
  readonly target: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Absent: the connection was refused or cut. */
  readonly answer?: HttpAnswer;
}

export interface Load {
  /** Every attempt so far, in the order in which they ended. */
  readonly attempts: readonly Attempt[];
  /** Stops new orders, and resolves once every order that was begun has been answered 200. */
  finish(): Promise<void>;
}

/** Refusals that mean "send it again"; well-formed requests within their limits may get no others. */
const passing = new Set([
  'UNAVAILABLE',
  'LEDGER_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'OVERLOADED',
  'IDEMPOTENCY_IN_PROGRESS',
]);

/** Starts senders that follow the documentation: the same request again until there is an answer. */
export function startLoad(options: {
  /** The processes to send to; each attempt goes to a random one. */
  readonly targets: readonly Sender[];
  /** Concurrent orders. */
  readonly senders: number;
  /** The next order, by number from 0; undefined: there are no more. */
  readonly nextOrder: (number: number) => Order | undefined;
  /** Percentage of answered orders that are sent once more. */
  readonly replayPercent?: number;
  /** Pause after an attempt that was not answered with 200. */
  readonly pauseMs?: number;
  /** An order that was not answered 200 for this long fails the load. */
  readonly giveUpAfterMs?: number;
}): Load {
  const { targets, senders, nextOrder, replayPercent = 0, pauseMs = 25, giveUpAfterMs = 60_000 } = options;
  const attempts: Attempt[] = [];
  let isFinishing = false;
  let failed: Error | undefined;
  let made = 0;

  const attempt = async (order: Order): Promise<Attempt> => {
    const target = Math.floor(Math.random() * targets.length);
    const startedMs = performance.now();
    const asked = targets[target]!.post(order.body, { idempotencyKey: order.idempotencyKey });
    const answer = await asked.catch(() => undefined);
    const done = { order, target, startedMs, endedMs: performance.now(), ...(answer === undefined ? {} : { answer }) };
    attempts.push(done);
    return done;
  };
  const settle = async (order: Order): Promise<void> => {
    const beganMs = performance.now();
    while (failed === undefined) {
      const { answer, endedMs } = await attempt(order);
      if (answer?.status === 200) return;
      if (answer !== undefined && !passing.has(codeOf(answer) ?? '')) {
        throw new Error(`${order.idempotencyKey} was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
      }
      if (endedMs - beganMs > giveUpAfterMs) throw new Error(`${order.idempotencyKey} was not answered in time.`);
      await delay(pauseMs);
    }
  };
  const work = async (): Promise<void> => {
    while (!isFinishing && failed === undefined) {
      const order = nextOrder(made++);
      if (order === undefined) return;
      await settle(order);
      if (Math.random() * 100 < replayPercent) await settle(order);
      await betweenOrders();
    }
  };
  const workers = Array.from({ length: senders }, () =>
    work().catch((error: unknown) => {
      failed ??= error instanceof Error ? error : new Error(String(error));
    }),
  );
  return {
    attempts,
    finish: async () => {
      isFinishing = true;
      await Promise.all(workers);
      if (failed !== undefined) throw failed;
    },
  };
}

/** The code of a problem. */
export function codeOf(answer: HttpAnswer): string | undefined {
  const { body } = answer;
  if (typeof body !== 'object' || body === null || !('code' in body)) return undefined;
  return String(body.code);
}

/** The answers to all attempts. Throws where one had none, because the gateway's counters cannot be predicted then. */
export function answersTo(attempts: readonly Attempt[]): HttpAnswer[] {
  return attempts.map(({ answer, order }) => {
    if (answer === undefined) throw new Error(`${order.idempotencyKey} had no answer.`);
    return answer;
  });
}

/** The bodies of all 200s. */
export function acceptedTexts(attempts: readonly Attempt[]): string[] {
  return attempts.flatMap(({ answer }) => (answer?.status === 200 ? [answer.text] : []));
}

/** Throws unless all 200s to one order have the same bytes, and all but at most one are marked as replays. */
export function checkReplays(attempts: readonly Attempt[]): void {
  const texts = new Map<string, { text: string; originals: number }>();
  for (const { order, answer } of attempts) {
    if (answer?.status !== 200) continue;
    const isOriginal = answer.headers['idempotent-replayed'] === undefined;
    const known = texts.get(order.idempotencyKey) ?? { text: answer.text, originals: 0 };
    if (known.text !== answer.text)
      throw new Error(`${order.idempotencyKey} had two answers:\n${known.text}\n${answer.text}`);
    texts.set(order.idempotencyKey, { ...known, originals: known.originals + (isOriginal ? 1 : 0) });
  }
  for (const [key, { originals }] of texts) {
    if (originals > 1) throw new Error(`${key} was written for the first time ${originals} times.`);
  }
}

/**
 * Orders of 1 to `most` records, each with its own content and without an id: the gateway generates it. Where channels
 * are given, every fourth order is for all of them.
 */
export function batchOrders(most: number, prefix: string, channels: readonly string[] = []): (number: number) => Order {
  return (number) => {
    const count = 1 + Math.floor(Math.random() * most);
    const target = channels.length > 0 && number % 4 === 0 ? { targetChannels: channels } : {};
    const assets = Array.from({ length: count }, (_, n) => ({
      type: 'load',
      order: `${prefix}-${number}`,
      n,
      ...target,
    }));
    return { idempotencyKey: `${prefix}-${number}`, body: JSON.stringify({ assets }) };
  };
}
