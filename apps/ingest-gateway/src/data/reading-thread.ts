import { Worker, type ResourceLimits } from 'node:worker_threads';
import { AppError } from '@sealgate/errors';
import type { AnyReading, AnyRules, ReadApart } from '../domain/read-submission.ts';
import type { ReadingAnswer, ReadingRequest } from './reading-messages.ts';
import { TurnQueue, type TurnBounds } from './turn-queue.ts';

export interface ReadingLimits {
  /** Of bodies that wait, for all senders and for one. */
  readonly waiting: TurnBounds;
  /** How long a body may wait for its turn. */
  readonly waitMs: number;
  /** How long it may then be read; a thread that takes longer is ended. */
  readonly readMs: number;
  /** After so long without a body the thread is let go, and its memory with it. */
  readonly idleMs: number;
}

export interface ReadingThreadOptions {
  /** The file of `reading-worker`. */
  readonly program: URL;
  readonly limits: ReadingLimits;
  /** Of the thread's heap. Options of the process itself, `--max-old-space-size` say, win over these. */
  readonly heap: ResourceLimits;
  /** Calls `done` after `ms`, unless what it returns was called before. */
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** Told why the thread has ended by itself, or had to be ended. The next body starts another. */
  readonly onLost: (reason: string) => void;
}

interface Job {
  readonly bytes: Buffer;
  readonly rules: AnyRules;
  readonly sender: string;
  readonly resolve: (submission: AnyReading) => void;
  readonly reject: (reason: unknown) => void;
  stopTimer: () => void;
}

/**
 * Reads large bodies, one at a time, in a thread of its own that is there only while such bodies come. Parsing one may take
 * a tenth of a second and leave a million values behind; here neither holds up the event loop that answers everybody.
 *
 * Whatever becomes of the thread, each body is answered once: with what was read, its refusal, or an error. A body whose
 * reading ends the thread takes no other down with it.
 */
export class ReadingThread {
  readonly #options: ReadingThreadOptions;
  readonly #waiting: TurnQueue<Job>;
  #worker: Worker | undefined;
  #running: Job | undefined;
  #stopIdleTimer: () => void = nothing;
  #closed = false;

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
    this.#waiting = new TurnQueue(options.limits.waiting);
  }

  /** How many bodies wait or are being read. */
  get depth(): number {
    return this.#waiting.size + (this.#running === undefined ? 0 : 1);
  }

  // What comes back is of the kind that the rules are of.
  readonly read = ((bytes, rules, sender) =>
    new Promise<AnyReading>((resolve, reject) => {
      const job: Job = { bytes, rules, sender, resolve, reject, stopTimer: nothing };
      if (this.#closed) return reject(stopping());
      if (!this.#waiting.add(sender, bytes.length, job)) return reject(overloaded());
      job.stopTimer = this.#options.startTimer(() => this.#waitedTooLong(job), this.#options.limits.waitMs);
      this.#next();
    })) as ReadApart;

  /** Refuses whatever waits, and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#settle((job) => job.reject(stopping()));
    for (let job = this.#waiting.take(); job !== undefined; job = this.#waiting.take()) {
      job.stopTimer();
      job.reject(stopping());
    }
    await this.#endThread();
  }

  #next(): void {
    if (this.#running !== undefined || this.#closed) return;
    this.#stopIdleTimer();
    const job = this.#waiting.take();
    if (job === undefined) {
      this.#stopIdleTimer = this.#options.startTimer(() => void this.#endThread(), this.#options.limits.idleMs);
      return;
    }
    this.#running = job;
    job.stopTimer();
    job.stopTimer = this.#options.startTimer(() => this.#readTooLong(), this.#options.limits.readMs);
    // A copy, because the fingerprint is made of the bytes later, and because what is sent may be part of a larger buffer.
    const bytes = new Uint8Array(job.bytes);
    const request: ReadingRequest = { bytes, rules: job.rules };
    try {
      this.#worker ??= this.#startThread();
      this.#worker.postMessage(request, [bytes.buffer]);
    } catch (error) {
      this.#lost(error);
    }
  }

  #startThread(): Worker {
    // It reads bodies: it has no business with the environment, nor with what was loaded into the process beside main.
    const own = { env: {}, argv: [], execArgv: [], name: 'reading' };
    const worker = new Worker(this.#options.program, { ...own, resourceLimits: this.#options.heap });
    worker.unref();
    const ifCurrent =
      <Value>(act: (value: Value) => void) =>
      (value: Value) => {
        // One that was ended still says so.
        if (worker === this.#worker) act(value);
      };
    worker.on(
      'message',
      ifCurrent((answer: ReadingAnswer) => this.#answered(answer)),
    );
    worker.on(
      'messageerror',
      ifCurrent((error: unknown) => this.#lost(error)),
    );
    worker.on(
      'error',
      ifCurrent((error: unknown) => this.#lost(error)),
    );
    worker.on(
      'exit',
      ifCurrent((code: number) => this.#lost(new Error(`The reading thread ended with ${code}.`))),
    );
    return worker;
  }

  #answered(answer: ReadingAnswer): void {
    this.#settle((job) => {
      if ('submission' in answer) return job.resolve(answer.submission);
      const { code, detail, faults } = answer.refusal;
      job.reject(new AppError(code, detail, { faults }));
    });
    this.#next();
  }

  /** The body that was being read is answered as a bug: it would end the next thread as well. */
  #lost(error: unknown): void {
    this.#options.onLost(reasonOf(error));
    void this.#endThread();
    this.#settle((job) => job.reject(new Error('The reading thread was lost.', { cause: error })));
    this.#next();
  }

  #waitedTooLong(job: Job): void {
    this.#waiting.remove(job.sender, job);
    job.reject(overloaded());
  }

  #readTooLong(): void {
    this.#options.onLost('A body took too long to read.');
    void this.#endThread();
    this.#settle((job) => job.reject(overloaded()));
    this.#next();
  }

  #settle(tell: (job: Job) => void): void {
    const job = this.#running;
    this.#running = undefined;
    job?.stopTimer();
    if (job !== undefined) tell(job);
  }

  async #endThread(): Promise<void> {
    this.#stopIdleTimer();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

/** What another thread has thrown is like an Error, and none. */
function reasonOf(error: unknown): string {
  const hasStack = typeof error === 'object' && error !== null && 'stack' in error;
  return hasStack ? String(error.stack) : String(error);
}

function nothing(): void {}

function overloaded(): AppError {
  return new AppError('OVERLOADED', 'More large bodies have come than the gateway reads in time.', {
    retryAfterSeconds: 1,
  });
}

function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The gateway is stopping.', { retryAfterSeconds: 1 });
}
