import { Worker, type ResourceLimits } from 'node:worker_threads';
import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import type { AnyReading, AnyRules, ReadApart } from '../domain/read-body.ts';

/** Request of the main thread to the reading thread: one at a time. */
export interface ReadingRequest {
  readonly bytes: Uint8Array;
  readonly rules: AnyRules;
}

/** The reply. A refusal is sent as plain data because an error loses its class between threads. */
export type ReadingAnswer =
  | { readonly submission: AnyReading }
  | { readonly refusal: { readonly code: ErrorCode; readonly detail: string; readonly faults: readonly Fault[] } };

export interface ReadingLimits {
  /** Bounds of the queue, for all senders together and for each. */
  readonly waiting: TurnBounds;
  /** Maximum time of a body in the queue. */
  readonly waitMs: number;
  /** Maximum reading time of a body; a thread that exceeds it is terminated. */
  readonly readMs: number;
  /** Idle time after which the thread is terminated, to free its memory. */
  readonly idleMs: number;
}

interface ReadingThreadOptions {
  /** The file of `reading-worker`. */
  readonly program: URL;
  readonly limits: ReadingLimits;
  /** Heap limits of the thread. Options of the process, such as `--max-old-space-size`, take precedence. */
  readonly heap: ResourceLimits;
  /** Calls `done` after `ms`, unless the returned function is called first. */
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** Called with the reason when the thread ended by itself or was terminated. The next body starts another. */
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
 * Reads large bodies, one at a time, in a worker thread that exists only while such bodies come. Parsing one may take
 * 100 ms and leave a million values for the garbage collector; here neither blocks the main event loop.
 *
 * Each body is answered exactly once, whatever happens to the thread: with the result, its refusal, or an error. A body
 * that crashes the thread fails no other.
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

  /** Number of bodies that are queued or being read. */
  get depth(): number {
    return this.#waiting.size + (this.#running === undefined ? 0 : 1);
  }

  // The result is of the kind that the rules ask for.
  readonly read = ((bytes, rules, sender) =>
    new Promise<AnyReading>((resolve, reject) => {
      const job: Job = { bytes, rules, sender, resolve, reject, stopTimer: nothing };
      if (this.#closed) return reject(stopping());
      if (!this.#waiting.add(sender, bytes.length, job)) return reject(overloaded());
      job.stopTimer = this.#options.startTimer(() => this.#waitedTooLong(job), this.#options.limits.waitMs);
      this.#next();
    })) as ReadApart;

  /** Refuses all queued bodies and ends the thread. */
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
    // Copied, because the fingerprint is computed from the bytes later and the buffer may be part of a larger one.
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
    // The thread only reads bodies: it gets no environment and none of the modules preloaded beside main.
    const own = { env: {}, argv: [], execArgv: [], name: 'reading' };
    const worker = new Worker(this.#options.program, { ...own, resourceLimits: this.#options.heap });
    worker.unref();
    const ifCurrent =
      <Value>(act: (value: Value) => void) =>
      (value: Value) => {
        // A terminated worker still emits `exit`.
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

  /** The body that was being read fails as a bug: it would crash the next thread as well. */
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

/** A value thrown in another thread resembles an Error but is not an instance of it. */
function reasonOf(error: unknown): string {
  const hasStack = typeof error === 'object' && error !== null && 'stack' in error;
  return hasStack ? String(error.stack) : String(error);
}

function nothing(): void {}

function overloaded(): AppError {
  return new AppError('OVERLOADED', 'More large bodies are queued than the gateway can read in time.', {
    retryAfterSeconds: 1,
  });
}

function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The gateway is stopping.', { retryAfterSeconds: 1 });
}

/** Maximum queued bytes, for all senders together and for each. */
interface TurnBounds {
  readonly maxBytes: number;
  readonly maxBytesOfOne: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly bytes: number;
}

/** A bounded queue in which senders take turns, so that a busy sender delays only itself. */
export class TurnQueue<Item> {
  readonly #bounds: TurnBounds;
  /** Items by sender, in the order of turns; no list is empty. */
  readonly #lines = new Map<string, Waiting<Item>[]>();
  #bytes = 0;
  #size = 0;

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns false, without queueing the item, where it would exceed a bound. */
  add(sender: string, bytes: number, item: Item): boolean {
    const line = this.#lines.get(sender) ?? [];
    const ofSender = line.reduce((sum, waiting) => sum + waiting.bytes, bytes);
    if (ofSender > this.#bounds.maxBytesOfOne || this.#bytes + bytes > this.#bounds.maxBytes) return false;
    line.push({ item, bytes });
    this.#lines.set(sender, line);
    this.#count(bytes, 1);
    return true;
  }

  /** Takes the first item of the sender whose turn it is and moves that sender to the end. */
  take(): Item | undefined {
    for (const [sender, line] of this.#lines) {
      const first = line.shift();
      this.#lines.delete(sender);
      if (line.length > 0) this.#lines.set(sender, line);
      if (first === undefined) continue;
      this.#count(-first.bytes, -1);
      return first.item;
    }
    return undefined;
  }

  /** Removes a queued item. */
  remove(sender: string, item: Item): void {
    const line = this.#lines.get(sender) ?? [];
    const place = line.findIndex((waiting) => waiting.item === item);
    const [removed] = place < 0 ? [] : line.splice(place, 1);
    if (removed === undefined) return;
    this.#count(-removed.bytes, -1);
    if (line.length === 0) this.#lines.delete(sender);
  }

  #count(bytes: number, items: number): void {
    this.#bytes += bytes;
    this.#size += items;
  }
}
