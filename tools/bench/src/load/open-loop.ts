/** Sends one request that was due at that moment of `performance.now()`. */
type Send = (dueAt: number) => void;

const lookEveryMs = 1;

/**
 * Requests at a steady rate, independent of the answers. A request that is due while every connection is busy waits for
 * the next free one, and its latency counts from its due time: a stalled server is charged for every request that would
 * have come meanwhile.
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

  /** Marks a connection as free. */
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
      // The connection that has been free for longest, so that all of them are used.
      const send = this.#free.shift();
      if (send === undefined) return;
      send(this.#startedAt + this.#sent * this.#everyMs);
      this.#sent += 1;
    }
    if (this.#sent >= this.#requests) this.stop();
  }
}
