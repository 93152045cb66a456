import assert from 'node:assert/strict';
import { AppError } from '@sealgate/errors';

export interface TickBatcherOptions {
  /** Maximum inputs per call. Default: 256. */
  readonly maxBatch?: number;
  /** Maximum concurrent calls; later inputs wait and are batched. Default: 2. */
  readonly maxRunning?: number;
  /** Maximum waiting inputs. Default: 10,000. */
  readonly maxWaiting?: number;
}

interface Waiting<In, Out> {
  readonly input: In;
  resolve(output: Out): void;
  reject(error: unknown): void;
}

/**
 * Batches all calls of one turn of the event loop: the look-ups of a hundred concurrent requests become one query.
 * `run` gets the inputs in call order, duplicates included, and must return outputs in that order. It must end by
 * itself; the batcher adds no deadline and no retry.
 */
export class TickBatcher<In, Out> {
  readonly #run: (inputs: In[]) => Promise<Out[]>;
  readonly #maxBatch: number;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  #waiting: Waiting<In, Out>[] = [];
  #running = 0;
  #scheduled = false;

  constructor(run: (inputs: In[]) => Promise<Out[]>, options: TickBatcherOptions = {}) {
    this.#run = run;
    this.#maxBatch = options.maxBatch ?? 256;
    this.#maxRunning = options.maxRunning ?? 2;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    assert(this.#maxBatch >= 1 && this.#maxRunning >= 1, 'A batcher needs room for one call of one input.');
  }

  /**
   * @throws AppError OVERLOADED if too many inputs wait; the error of `run`, to each caller of that batch.
   */
  call(input: In): Promise<Out> {
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(new AppError('OVERLOADED', 'Too many look-ups wait.'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      this.#schedule();
    });
  }

  /** An immediate runs after all sockets of this turn have been read; a microtask does not. */
  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#maxRunning) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#running < this.#maxRunning) {
      const all = this.#waiting.length <= this.#maxBatch;
      const batch = all ? this.#waiting : this.#waiting.splice(0, this.#maxBatch);
      if (all) this.#waiting = [];
      this.#running += 1;
      void this.#settle(batch);
    }
  }

  async #settle(batch: readonly Waiting<In, Out>[]): Promise<void> {
    try {
      const outputs = await this.#run(batch.map(({ input }) => input));
      assert(outputs.length === batch.length, 'A batch has one answer for each input.');
      outputs.forEach((output, index) => batch[index]?.resolve(output));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#running -= 1;
    if (this.#waiting.length > 0) this.#schedule();
  }
}
