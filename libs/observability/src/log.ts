import type { LogLevel } from './line-sink.ts';
import { openLineSink } from './line-sink.ts';
import type { LogFields } from './render-fields.ts';
import { renderFields, renderText } from './render-fields.ts';
import { requestLinePrinter } from './request-line.ts';
import type { RequestLog } from './request-log.ts';
import { RequestBatcher } from './request-log.ts';
import { timePrinter } from './time-text.ts';

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
  const { service, stream, now } = options;
  const sink = openLineSink(stream, options.level);
  const timeText = timePrinter();
  const linesFrom = { sink, service: renderText(service), time: () => timeText(now()) };
  const log = leveledLog(linesFrom, {});
  const printRecord = requestLinePrinter(service);
  const batcher = new RequestBatcher(sink, (record) => printRecord(timeText(now()), record));
  const droppedLines = (): number => sink.dropped + batcher.dropped;
  let reported = 0;
  sink.onUnblocked(() => {
    const lines = droppedLines() - reported;
    if (lines === 0) return;
    reported += lines;
    log.warn('log_lines_dropped', { lines });
  });
  return {
    ...log,
    requests: sink.isEnabled('info') ? batcher : { write: () => undefined },
    get droppedLines() {
      return droppedLines();
    },
    flush: () => {
      batcher.flush();
      return sink.settle(FLUSH_TIMEOUT_MS);
    },
  };
}

interface LineSource {
  readonly sink: ReturnType<typeof openLineSink>;
  /** Already rendered. */
  readonly service: string;
  readonly time: () => string;
}

function leveledLog(source: LineSource, inherited: LogFields): Log {
  const at = (level: LogLevel) => (event: string, fields?: LogFields) => {
    if (!source.sink.isEnabled(level)) return;
    const opening = `{"time":"${source.time()}","level":"${level}","service":${source.service}`;
    source.sink.print(level, `${opening},"event":${renderText(event)}${renderFields({ ...inherited, ...fields })}}`);
  };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    child: (fields) => leveledLog(source, { ...inherited, ...fields }),
  };
}
