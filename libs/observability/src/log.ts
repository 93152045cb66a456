import type { Writable } from 'node:stream';
import { createLogger, format, transports } from 'winston';
import { requestLine, type RequestLog, type RequestRecord } from './request-record.ts';
import { safeFields, safeText, type LogFields } from './safe-fields.ts';

/** The levels a log knows, the most urgent first. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How long `flush` waits for a stream that does not take what it was given. */
const FLUSH_TIMEOUT_MS = 1000;

/**
 * JSON lines, one for each event that is not a request.
 *
 * `event` is a name from a closed set (`redis_away`), never a sentence with values in it; values are fields.
 * `error`: a person must act now. `warn`: it healed. No call throws, whatever the fields hold, and secrets are replaced.
 */
export interface Log {
  error(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  debug(event: string, fields?: LogFields): void;
  /** A log whose every line also has these fields. */
  child(fields: LogFields): Log;
}

/** The log of a process. */
export interface ServiceLog extends Log {
  readonly requests: RequestLog;
  /** Lines lost so far because the stream was blocked or broken; for a metric. */
  readonly droppedLines: number;
  /** Writes what waits and resolves once the stream has taken it, after a second at the latest. Call it before exit. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly service: string;
  /** `error`, `warn`, `info` or `debug`. Request lines are `info`. */
  readonly level: string;
  /** Stays the caller's: it is never ended here. */
  readonly stream: NodeJS.WritableStream;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** What every line has that is not of a request. */
  readonly fields?: LogFields;
}

/**
 * Opens the log of a process over winston.
 *
 * Memory is bounded: while the stream is blocked, about a mebibyte of request lines waits here and another in the
 * stream; then the oldest request lines are dropped, counted in `droppedLines`, and one line says so afterwards.
 *
 * @throws Error when the level is unknown.
 */
export function createLog(options: LogOptions): ServiceLog {
  const { service, level: threshold, stream, now } = options;
  if (!LOG_LEVELS.some((known) => known === threshold))
    throw new Error(`The log level must be one of ${LOG_LEVELS.join(', ')}.`);
  let reported = 0;
  const transport = new LineTransport(stream, () => {
    const lines = transport.dropped - reported;
    reported += lines;
    if (lines > 0) log.warn('log_lines_dropped', { lines });
  });
  const logger = createLogger({
    level: threshold,
    levels: Object.fromEntries(LOG_LEVELS.map((name, urgency) => [name, urgency])),
    format: format.printf(({ level, message, fields, record }) => {
      const time = new Date(now()).toISOString();
      if (record !== undefined) return JSON.stringify(requestLine(time, service, record as RequestRecord));
      return JSON.stringify({ time, level, service, event: message, ...(fields as LogFields) });
    }),
    transports: [transport],
  });
  const isEnabled = (level: LogLevel): boolean => logger.isLevelEnabled(level);
  const leveledLog = (inherited: LogFields): Log => {
    const at = (level: LogLevel) => (event: string, fields?: LogFields) => {
      if (isEnabled(level))
        logger.log({ level, message: safeText(event), fields: safeFields({ ...inherited, ...fields }) });
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      child: (fields) => leveledLog({ ...inherited, ...fields }),
    };
  };
  const log = leveledLog(options.fields ?? {});
  const writesRequests = isEnabled('info');
  return {
    ...log,
    requests: {
      write: (record) => {
        if (writesRequests) logger.log({ level: 'info', message: 'request', record });
      },
    },
    get droppedLines() {
      return transport.dropped;
    },
    flush: () => transport.flush(FLUSH_TIMEOUT_MS),
  };
}

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
