import type { Writable } from 'node:stream';
import { createLogger, format, transports } from 'winston';

/** The levels a log knows, the most urgent first. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How much may wait inside the stream before further lines are dropped: what a stuck disk costs in memory. */
const MAX_STREAM_BYTES = 1024 * 1024;

/** A stream with winston in front of it. Whole rendered lines go in; `blocked` tells when it cannot take them. */
export interface LineSink {
  /** Prints one line, or several with line ends between them. Drops it when a megabyte waits already. */
  print(level: LogLevel, text: string, lines?: number): void;
  isEnabled(level: LogLevel): boolean;
  readonly blocked: boolean;
  /** Lines that were never written because the stream was full or broken. */
  readonly dropped: number;
  onUnblocked(listener: () => void): void;
  /** Resolves once everything printed so far has left the stream, or after `timeoutMs`. Never rejects. */
  settle(timeoutMs: number): Promise<void>;
}

/** Node's own writable streams tell these; others may not, and are then taken to be never full. */
type StreamState = Pick<Partial<Writable>, 'writableNeedDrain' | 'writableLength' | 'destroyed'>;

/**
 * Opens a sink on a stream. The stream stays the caller's: it is never ended here, and an error of it (a closed pipe,
 * a full disk) is swallowed, since a service must not die of its log.
 *
 * @throws Error when the level is unknown.
 */
export function openLineSink(stream: NodeJS.WritableStream, level: string): LineSink {
  const threshold = LOG_LEVELS.findIndex((known) => known === level);
  if (threshold < 0) throw new Error(`The log level must be one of ${LOG_LEVELS.join(', ')}.`);
  const state: NodeJS.WritableStream & StreamState = stream;
  const logger = createLogger({
    level,
    levels: Object.fromEntries(LOG_LEVELS.map((name, urgency) => [name, urgency])),
    // The text arrives rendered and free of secrets, so there is nothing left to format.
    format: format.printf((info) => String(info.message)),
    transports: [new transports.Stream({ stream, eol: '\n' })],
  });
  let dropped = 0;
  // Without a listener this event would end the process. What is printed afterwards counts as dropped.
  stream.on('error', () => undefined);
  return {
    print: (lineLevel, text, lines = 1) => {
      if (state.destroyed === true || (state.writableLength ?? 0) > MAX_STREAM_BYTES) dropped += lines;
      else logger.log({ level: lineLevel, message: text });
    },
    isEnabled: (lineLevel) => LOG_LEVELS.indexOf(lineLevel) <= threshold,
    get blocked() {
      return state.writableNeedDrain === true;
    },
    get dropped() {
      return dropped;
    },
    onUnblocked: (listener) => {
      stream.on('drain', listener);
    },
    settle: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        const done = (): void => {
          clearTimeout(timer);
          resolve();
        };
        if (state.destroyed === true) done();
        else stream.write('', done);
      }),
  };
}
