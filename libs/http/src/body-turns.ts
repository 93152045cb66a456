import { AppError } from '@sealgate/errors';

export interface BodyTurnsOptions {
  /** Bytes of bodies that are parsed and worked on at once; a larger one goes when it is alone. */
  readonly atOnceBytes: number;
  /** Bytes of bodies that may wait; more is refused. */
  readonly waitingBytes: number;
  /** How long one may wait. */
  readonly waitMs: number;
}

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * Lets large bodies take turns, so that what they become on the heap, several times their bytes, is bounded however many
 * come at once. Small ones do not take part.
 */
export class BodyTurns {
  readonly #options: BodyTurnsOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #runningBytes = 0;

  constructor(options: BodyTurnsOptions) {
    this.#options = options;
  }

  /**
   * Waits for the turn of a body; call what it resolves to once nothing of the body is needed any more.
   * Rejects with AppError OVERLOADED when too much waits already, or its turn did not come in time.
   */
  take(bytes: number): Promise<() => void> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return Promise.resolve(this.#begin(bytes));
    if (this.#waitingBytes + bytes > this.#options.waitingBytes) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(waiting);
        reject(overloaded());
      }, this.#options.waitMs);
      const waiting: Waiting = {
        bytes,
        begin: () => {
          clearTimeout(timer);
          resolve(this.#begin(bytes));
        },
      };
      this.#waiting.push(waiting);
      this.#waitingBytes += bytes;
    });
  }

  #fits(bytes: number): boolean {
    return this.#runningBytes === 0 || this.#runningBytes + bytes <= this.#options.atOnceBytes;
  }

  #begin(bytes: number): () => void {
    this.#runningBytes += bytes;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#runningBytes -= bytes;
      this.#next();
    };
  }

  /** In the order in which they came: a small one does not pass a large one for ever. */
  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined && this.#fits(first.bytes); first = this.#waiting[0]) {
      this.#leave(first);
      first.begin();
    }
  }

  #leave(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    this.#waitingBytes -= waiting.bytes;
  }
}

function overloaded(): AppError {
  return new AppError('OVERLOADED', 'More large bodies have come than are taken at once.', { retryAfterSeconds: 1 });
}
