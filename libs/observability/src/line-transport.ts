import type { Writable } from 'node:stream';
import { transports } from 'winston';

/** How long a request line may wait for others, and how much of them may wait. */
const BATCH_DELAY_MS = 50;
const BATCH_MAX_LENGTH = 64 * 1024;

/** How much may wait while the stream is blocked, in UTF-16 units, before the oldest request lines are dropped. */
const MAX_WAITING_LENGTH = 1024 * 1024;

/** How much may wait inside the stream before further lines are dropped: what a stuck disk costs in memory. */
const MAX_STREAM_BYTES = 1024 * 1024;

/** Node's own writable streams have these; others may not, and are then taken to be never full. */
type LineStream = NodeJS.WritableStream & Pick<Partial<Writable>, 'writableNeedDrain' | 'writableLength' | 'destroyed'>;

interface Batch {
  readonly text: string;
  readonly lines: number;
}

/** What winston hands to a transport, as far as it is read here. */
interface Line {
  readonly [MESSAGE]?: string;
  /** There for the line of a request, which may wait for others. */
  readonly record?: unknown;
}

/** Under which winston keeps the formatted line. */
const MESSAGE = Symbol.for('message') as unknown as 'message';

/**
 * A transport of winston that writes the lines of requests in batches, every 50 ms or 64 KiB, whichever is first, and any
 * other line at once.
 *
 * While the stream is blocked, batches wait, up to a mebibyte; after that the oldest are dropped and counted, because the
 * newest tell what is going on now. The stream stays the caller's: it is never ended here, and an error of it (a closed
 * pipe, a full disk) is swallowed, since a service must not die of its log.
 */
export class LineTransport extends transports.Stream {
  readonly #stream: LineStream;
  readonly #waiting: Batch[] = [];
  #waitingLength = 0;
  #text = '';
  #lines = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onUnblocked called when a blocked stream takes lines again. */
  constructor(stream: NodeJS.WritableStream, onUnblocked: () => void) {
    super({ stream });
    this.#stream = stream;
    // Without a listener this event would end the process. What is written afterwards counts as dropped.
    stream.on('error', () => undefined);
    stream.on('drain', () => {
      this.#handOver();
      onUnblocked();
    });
  }

  /** Lines dropped since the start because the stream did not take them. */
  get dropped(): number {
    return this.#dropped;
  }

  override log(line: Line, next: () => void): void {
    const text = line[MESSAGE] ?? '';
    if (line.record === undefined) this.#write({ text: `${text}\n`, lines: 1 });
    else this.#collect(text);
    next();
  }

  /** Writes what waits, whether the stream is blocked or not, and resolves once it was taken or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void> {
    this.#closeBatch();
    this.#handOver(true);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#stream.destroyed === true) done();
      else this.#stream.write('', done);
    });
  }

  #collect(text: string): void {
    this.#text += `${text}\n`;
    this.#lines += 1;
    if (this.#text.length >= BATCH_MAX_LENGTH) this.#closeBatch();
    else this.#timer ??= setTimeout(() => this.#closeBatch(), BATCH_DELAY_MS).unref();
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
    while (this.#waitingLength > MAX_WAITING_LENGTH) this.#dropped += this.#takeOldest()?.lines ?? 0;
  }

  #handOver(force = false): void {
    while (this.#waiting.length > 0 && (force || this.#stream.writableNeedDrain !== true)) {
      const batch = this.#takeOldest();
      if (batch !== undefined) this.#write(batch);
    }
  }

  #takeOldest(): Batch | undefined {
    const oldest = this.#waiting.shift();
    this.#waitingLength -= oldest?.text.length ?? 0;
    return oldest;
  }

  #write({ text, lines }: Batch): void {
    if (this.#stream.destroyed === true || (this.#stream.writableLength ?? 0) > MAX_STREAM_BYTES)
      this.#dropped += lines;
    else this.#stream.write(text);
  }
}
