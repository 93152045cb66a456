import { OverloadedError } from './fabric-errors.ts';

interface CallWindowOptions {
  readonly max: number;
  readonly queueMax: number;
  readonly now: () => number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly enter: () => void;
  gone: boolean;
}

/** The window is halved once per overload, not once per failed call. */
const HALVE_EVERY_MS = 100;

/**
 * Limits concurrent calls by additive increase, multiplicative decrease (like TCP, RFC 5681). "too many requests" from
 * a peer halves the window; every successful call widens it slightly.
 */
export class CallWindow {
  readonly #options: CallWindowOptions;
  #size: number;
  #active = 0;
  #queue: Waiting[] = [];
  #head = 0;
  #waiting = 0;
  #halvedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: CallWindowOptions) {
    this.#options = options;
    this.#size = options.max;
  }

  get active(): number {
    return this.#active;
  }

  get size(): number {
    return Math.floor(this.#size);
  }

  get queued(): number {
    return this.#waiting;
  }

  get queueAgeMs(): number {
    this.#skipGone();
    const oldest = this.#queue[this.#head];
    return oldest === undefined ? 0 : Math.max(0, this.#options.now() - oldest.sinceMs);
  }

  /**
   * Takes a slot; release it with `leave`. Undefined if a slot is free at once, so that the usual case needs no turn.
   *
   * @throws OverloadedError when the queue is full, or at `signal`.
   */
  enter(signal: AbortSignal): Promise<void> | undefined {
    if (this.#active < this.size && this.#waiting === 0) {
      this.#active += 1;
      return undefined;
    }
    if (this.#waiting >= this.#options.queueMax) {
      return Promise.reject(new OverloadedError('The queue of calls is full.'));
    }
    if (signal.aborted) return Promise.reject(timedOut());
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.gone = true;
        this.#waiting -= 1;
        reject(timedOut());
      };
      const waiting: Waiting = {
        sinceMs: this.#options.now(),
        gone: false,
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#queue.push(waiting);
      this.#waiting += 1;
    });
  }

  leave(how: 'succeeded' | 'failed' | 'overloaded'): void {
    this.#active -= 1;
    if (how === 'succeeded') this.#size = Math.min(this.#options.max, this.#size + 1 / this.#size);
    if (how === 'overloaded') this.#halve();
    while (this.#active < this.size && this.#waiting > 0) this.#admit();
  }

  #halve(): void {
    const now = this.#options.now();
    if (now - this.#halvedAtMs < HALVE_EVERY_MS) return;
    this.#halvedAtMs = now;
    this.#size = Math.max(1, this.#size / 2);
  }

  #admit(): void {
    this.#skipGone();
    const next = this.#queue[this.#head];
    if (next === undefined) return;
    this.#head += 1;
    this.#waiting -= 1;
    this.#active += 1;
    next.enter();
  }

  /** Abandoned entries stay in the queue until they are reached; the array is cut once half of it is consumed. */
  #skipGone(): void {
    while (this.#queue[this.#head]?.gone === true) this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }
}

function timedOut(): OverloadedError {
  return new OverloadedError('No call to a peer was possible in time.');
}
