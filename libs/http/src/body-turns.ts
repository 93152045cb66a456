import { AppError } from '@sealgate/errors';

interface BodyTurnsOptions {
  /** Total bytes of bodies processed at once; a larger body runs alone. */
  readonly atOnceBytes: number;
  /** Total bytes of bodies that may queue; beyond it, requests are refused. */
  readonly waitingBytes: number;
  /** Maximum wait in the queue. */
  readonly waitMs: number;
}

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * A weighted semaphore for large bodies. It bounds the heap they take, which is several times their bytes. Small bodies
 * do not take part.
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
   * Waits until the body may be processed; resolves to a function that releases its share.
   * Rejects with AppError OVERLOADED when the queue is full or the wait times out.
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

  /** First in, first out: small bodies cannot starve a large one. */
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
  return new AppError('OVERLOADED', 'Too many large bodies are being processed.', { retryAfterSeconds: 1 });
}
