import { createLogger, format } from 'winston';
import { LineTransport } from './line-transport.ts';
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
  const log = leveledLog({});
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
