/** Sends one request, as one that was due at that moment of `performance.now()`. */
type Send = (dueAt: number) => void;

const lookEveryMs = 1;

/**
 * Requests at a steady rate that does not wait for answers. One that is due while every connection has a request in flight
 * waits for the next free one, and its latency counts from when it was due: so a server that stands still pays for every
 * request that would have come meanwhile.
 */
export class OpenLoop {
  readonly #everyMs: number;
  readonly #requests: number;
  readonly #free: Send[] = [];
  #startedAt = 0;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(perSecond: number, requests: number) {
    this.#everyMs = 1_000 / perSecond;
    this.#requests = requests;
  }

  start(connections: readonly Send[]): void {
    this.#free.push(...connections);
    this.#startedAt = performance.now();
    this.#timer = setInterval(() => this.#sendDue(), lookEveryMs);
  }

  /** A connection can send again. */
  isFree(send: Send): void {
    this.#free.push(send);
    this.#sendDue();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #due(): number {
    return Math.floor((performance.now() - this.#startedAt) / this.#everyMs) + 1;
  }

  #sendDue(): void {
    const due = Math.min(this.#requests, this.#due());
    while (this.#sent < due) {
      // The one that has been free for longest, so that all of them are used.
      const send = this.#free.shift();
      if (send === undefined) return;
      send(this.#startedAt + this.#sent * this.#everyMs);
      this.#sent += 1;
    }
    if (this.#sent >= this.#requests) this.stop();
  }
}
