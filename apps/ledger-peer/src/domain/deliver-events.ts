import type { DeliveryStore, HeldSubscription } from './delivery-store.ts';
import { makeEventCursor, readEventCursor, type EventPosition } from './event-cursor.ts';
import { eventScope } from './event-scope.ts';
import type { EventSource } from './event-source.ts';
import { eventText, type SourceEvent } from './ledger-event.ts';
import type { Mappings } from './mapping.ts';
import { pause } from './pause.ts';
import type { KeptSecret } from './subscription.ts';

/** One event for a receiver. */
export interface Delivery {
  readonly url: string;
  /** The same for every attempt: receivers ignore what they have. */
  readonly id: string;
  readonly body: string;
  /** Values of secrets, `whsec_` and base64; each signs. */
  readonly secrets: readonly string[];
}

export interface DeliverEventsPorts {
  readonly store: Pick<DeliveryStore, 'acknowledge' | 'fail' | 'stop'>;
  readonly source: EventSource;
  readonly mappings: Mappings;
  /** Returns why the attempt failed, from a closed set; undefined: the receiver has it. Ends within seconds. */
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<string | undefined>;
  /** The value of a secret; undefined if it cannot be decrypted here. */
  readonly open: (secret: KeptSecret, subscriptionId: string) => string | undefined;
  readonly now: () => number;
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number;
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** The receiver acknowledged nothing for 72 hours, and was stopped. */
  readonly onStopped: (subscriptionId: string, problem: string) => void;
  readonly onAttempt: (outcome: 'delivered' | 'failed') => void;
}

const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 3_600_000;
const GIVE_UP_AFTER_MS = 72 * 3_600_000;
/** How often the place is stored over events that are not for the receiver. */
const STORE_EVERY_MS = 10_000;

/** Thrown when the row is no longer this process's to move. */
class NotOurs extends Error {}

/**
 * Delivers the events of one subscription in order, each until it is acknowledged, until the signal is aborted or
 * another process, or an operator, has its row. Rejects if ledger or database do not answer: it is begun again.
 */
export async function deliverEvents(
  ports: DeliverEventsPorts,
  held: HeldSubscription,
  signal: AbortSignal,
): Promise<void> {
  const { source } = ports;
  const { channel } = held.subscription;
  const leave = source.follow(channel);
  try {
    await run(ports, held, signal);
  } catch (error) {
    if (!(error instanceof NotOurs)) throw error;
  } finally {
    leave();
  }
}

async function run(ports: DeliverEventsPorts, held: HeldSubscription, signal: AbortSignal): Promise<void> {
  const { source, store, mappings, now, startTimer } = ports;
  const { channel, types, events: kinds, cursor } = held.subscription;
  const scope = eventScope(mappings, { channel, types: types ?? undefined, kinds: kinds ?? undefined });
  let position: EventPosition = readEventCursor(channel, cursor, { in: 'body', pointer: '/cursor' });
  let storedAtMs = now();
  const receiver = new Receiver(ports, held, signal);
  if (held.notBefore !== null) await pause(held.notBefore.getTime() - now(), signal, startTimer);
  while (!signal.aborted) {
    await source.arrival(channel, position, signal);
    if (signal.aborted) return;
    const page = await source.read(channel, position, signal);
    for (const event of page.events) {
      const shown = scope(event);
      if (shown === undefined) continue;
      await receiver.deliver(shown);
      if (signal.aborted) return;
      storedAtMs = now();
    }
    position = page.position;
    if (now() - storedAtMs < STORE_EVERY_MS) continue;
    await ours(store.acknowledge(held, makeEventCursor(channel, position), undefined));
    storedAtMs = now();
  }
}

/** Sends one event after the other, and moves the row. */
class Receiver {
  readonly #ports: DeliverEventsPorts;
  readonly #held: HeldSubscription;
  readonly #signal: AbortSignal;
  #attempts: number;
  #failingSinceMs: number | undefined;

  constructor(ports: DeliverEventsPorts, held: HeldSubscription, signal: AbortSignal) {
    this.#ports = ports;
    this.#held = held;
    this.#signal = signal;
    this.#attempts = held.subscription.attempts;
    const { failingSince } = held.subscription;
    this.#failingSinceMs = failingSince === null ? undefined : Date.parse(failingSince);
  }

  /** Resolves once it is acknowledged, and the row says so, or the signal is aborted. @throws NotOurs */
  async deliver(event: SourceEvent): Promise<void> {
    const { store, now } = this.#ports;
    const { channel } = this.#held.subscription;
    while (!this.#signal.aborted) {
      const problem = await this.#attempt(event);
      if (this.#signal.aborted) return;
      if (problem === undefined) {
        // After a crash before this line the event is sent once more, with the same id.
        await ours(store.acknowledge(this.#held, makeEventCursor(channel, event.position), new Date(now())));
        this.#attempts = 0;
        this.#failingSinceMs = undefined;
        return;
      }
      await this.#wait(problem);
    }
  }

  async #attempt(event: SourceEvent): Promise<string | undefined> {
    const { send, open, onAttempt } = this.#ports;
    const { subscriptionId, url, channel, secrets } = this.#held.subscription;
    const values = secrets.flatMap((secret) => open(secret, subscriptionId) ?? []);
    if (values.length === 0) return 'secret_sealed';
    const id = makeEventCursor(channel, event.position);
    const at = event.at ?? new Date(this.#ports.now()).toISOString();
    const body = `{"type":"${event.kind}","timestamp":"${at}","data":${eventText(channel, event)}}`;
    const problem = await send({ url, id, body, secrets: values }, this.#signal);
    if (!this.#signal.aborted) onAttempt(problem === undefined ? 'delivered' : 'failed');
    return problem;
  }

  /** @throws NotOurs also after the subscription was stopped. */
  async #wait(problem: string): Promise<void> {
    const { store, now, random, onStopped, startTimer } = this.#ports;
    const nowMs = now();
    this.#attempts += 1;
    this.#failingSinceMs ??= nowMs;
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#attempts - 1, 20), LONGEST_PAUSE_MS);
    // Between half of it and all, so that receivers are not met by all at once.
    const untilMs = nowMs + Math.floor(longest * (0.5 + random() / 2));
    const failure = {
      ...{ problem, attempts: this.#attempts },
      since: new Date(this.#failingSinceMs),
      notBefore: new Date(untilMs),
    };
    await ours(store.fail(this.#held, failure));
    if (nowMs - this.#failingSinceMs >= GIVE_UP_AFTER_MS) {
      await ours(store.stop(this.#held));
      onStopped(this.#held.subscription.subscriptionId, problem);
      throw new NotOurs();
    }
    await pause(untilMs - now(), this.#signal, startTimer);
  }
}

async function ours(moved: Promise<boolean>): Promise<void> {
  if (!(await moved)) throw new NotOurs();
}
