import type { LineSink } from './line-sink.ts';
import type { RequestRecord } from './request-line.ts';

/** How long a request line may wait for others, and how much of them may wait. */
const BATCH_DELAY_MS = 50;
const BATCH_MAX_LENGTH = 64 * 1024;

/** How much may wait while the stream is blocked, in UTF-16 units, before the oldest lines are dropped. */
const MAX_WAITING_LENGTH = 1024 * 1024;

/** Takes one record for each request, at its end. */
export interface RequestLog {
  /** Renders the record at once (it may be reused afterwards). Never throws and never waits. */
  write(record: RequestRecord): void;
}

interface Batch {
  readonly text: string;
  readonly lines: number;
}

/**
 * Collects request lines and gives winston one call per batch: every 50 ms or 64 KiB, whichever is first.
 *
 * While the stream is blocked, batches wait, up to a mebibyte; after that the oldest are dropped and counted, because the
 * newest tell what is going on now.
 */
export class RequestBatcher implements RequestLog {
  readonly #sink: LineSink;
  readonly #print: (record: RequestRecord) => string;
  readonly #waiting: Batch[] = [];
  #waitingLength = 0;
  #text = '';
  #lines = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: LineSink, print: (record: RequestRecord) => string) {
    this.#sink = sink;
    this.#print = print;
    sink.onUnblocked(() => this.#handOver());
  }

  /** Request lines dropped since the start because the stream did not take them. */
  get dropped(): number {
    return this.#dropped;
  }

  write(record: RequestRecord): void {
    const line = this.#print(record);
    this.#text = this.#lines === 0 ? line : `${this.#text}\n${line}`;
    this.#lines += 1;
    if (this.#text.length >= BATCH_MAX_LENGTH) this.#closeBatch();
    else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#closeBatch(), BATCH_DELAY_MS).unref();
    }
  }

  /** Gives everything to winston now, whether the stream is blocked or not. For the end of a process. */
  flush(): void {
    this.#closeBatch();
    this.#handOver(true);
  }

  #closeBatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines > 0) {
      this.#waiting.push({ text: this.#text, lines: this.#lines });
      this.#waitingLength += this.#text.length;
      this.#text = '';
      this.#lines = 0;
    }
    this.#handOver();
    this.#dropOldest();
  }

  #handOver(force = false): void {
    while (this.#waiting.length > 0 && (force || !this.#sink.blocked)) {
      const batch = this.#waiting.shift();
      if (batch === undefined) return;
      this.#waitingLength -= batch.text.length;
      this.#sink.print('info', batch.text, batch.lines);
    }
  }

  #dropOldest(): void {
    while (this.#waitingLength > MAX_WAITING_LENGTH) {
      const oldest = this.#waiting.shift();
      if (oldest === undefined) return;
      this.#waitingLength -= oldest.text.length;
      this.#dropped += oldest.lines;
    }
  }
}
