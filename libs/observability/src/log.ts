import type { Writable } from 'node:stream';
import { createLogger, format, transports } from 'winston';
import type { Metrics } from './metrics.ts';
import { type LogFields, safeFields, safeText, SHORTEST_KEY_LENGTH } from './safe-fields.ts';

/** Log levels, most urgent first. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Timeout of `flush` when the stream is blocked. */
const FLUSH_TIMEOUT_MS = 1000;

/**
 * JSON lines for events other than requests.
 *
 * `event` is a name from a closed set (`redis_away`), never a sentence with values; values are fields. `error`: a
 * person must act now. `warn`: recovered by itself. No call throws, whatever the fields contain, and secrets are
 * redacted.
 */
export interface Log {
  error(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  debug(event: string, fields?: LogFields): void;
  /** A log that adds these fields to every line. */
  child(fields: LogFields): Log;
}

/**
 * The log record of one request: a closed set of members, filled while the request runs and written once at its end.
 *
 * It has no member for a body, a header, a query string or a key. Values chosen by a sender (`requestId`) are still
 * searched for keys.
 */
export interface RequestRecord {
  method: string;
  /** The template (`/{networkId}`), never the URL; `none` if no route matched. */
  route: string;
  status: number;
  durationMs: number;
  requestId: string;
  /** W3C trace id, 32 hex digits. */
  traceId?: string;
  /** Problem code of a refusal. */
  code?: string;
  keyId?: string;
  orgId?: string;
  networkId?: string;
  environment?: string;
  /** Client address, for requests without an authenticated caller. */
  clientAddress?: string;
  /** Why an access token was refused, from the closed set of `libs/identity`. */
  tokenRefused?: string;
  /** Of a refused access token whose signature was valid. */
  issuer?: string;
  subject?: string;
  bytesIn?: number;
  bytesOut?: number;
  /** Number of records in the write. */
  records?: number;
  strippedFields?: number;
  eventId?: string;
  /** True if a stored answer was replayed. */
  replayed?: boolean;
  /** Outcome of a decision or a write (`allow`, `deny`, `written`, `replayed`), from a closed set of the surface. */
  outcome?: string;
  /** Why it was refused by a failed part or for its credential, or decided so. Never what a client sent. */
  reason?: string;
  /** The first transaction of the ledger that the request wrote. */
  transactionId?: string;
  /** The record of the ledger that the request made, or had made, where the service chose its id. */
  ledgerRecordId?: string;
  /** Name of the MCP tool called. */
  tool?: string;
}

/** Receives one record per request, at its end. */
export interface RequestLog {
  /** Renders the record at once, so that it may be reused. Never throws, never waits. */
  write(record: RequestRecord): void;
}

/** The log of a process. */
export interface ServiceLog extends Log {
  readonly requests: RequestLog;
  /** Lines lost so far because the stream was blocked or broken. */
  readonly droppedLines: number;
  /** Writes queued lines and resolves once the stream has accepted them, or after a second. Call it before exit. */
  flush(): Promise<void>;
}

interface LogOptions {
  readonly service: string;
  /** `error`, `warn`, `info` or `debug`. Request lines are `info`. */
  readonly level: string;
  /** Owned by the caller: never ended here. */
  readonly stream: NodeJS.WritableStream;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Fields of every line except request lines. */
  readonly fields?: LogFields;
}

/**
 * The clock of a process: milliseconds since the epoch, with a fraction, so that it also measures durations. Never goes
 * back.
 */
export const processClock = (): number => performance.timeOrigin + performance.now();

/**
 * Opens the log of a process, based on winston.
 *
 * Memory is bounded: while the stream is blocked, about 1 MiB of request lines is queued here and another in the
 * stream; beyond it the oldest request lines are dropped, counted in `droppedLines`, and reported in one line
 * afterwards.
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

/**
 * The log line of a request: the members of `RequestRecord` in fixed order, redacted. A single literal, since
 * `JSON.stringify` is twice as slow for an object built incrementally.
 */
export function requestLine(time: string, service: string, record: RequestRecord): Readonly<Record<string, unknown>> {
  return {
    time,
    level: 'info',
    service,
    event: 'request',
    method: textOf(record.method),
    route: textOf(record.route),
    status: record.status,
    durationMs: record.durationMs >= 0 ? Math.round(record.durationMs * 1000) / 1000 : null,
    requestId: textOf(record.requestId),
    traceId: textOf(record.traceId),
    code: textOf(record.code),
    keyId: textOf(record.keyId),
    orgId: textOf(record.orgId),
    networkId: textOf(record.networkId),
    environment: textOf(record.environment),
    clientAddress: textOf(record.clientAddress),
    tokenRefused: textOf(record.tokenRefused),
    issuer: textOf(record.issuer),
    subject: textOf(record.subject),
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    records: record.records,
    strippedFields: record.strippedFields,
    eventId: textOf(record.eventId),
    replayed: record.replayed,
    outcome: textOf(record.outcome),
    reason: textOf(record.reason),
    transactionId: textOf(record.transactionId),
    ledgerRecordId: textOf(record.ledgerRecordId),
    tool: textOf(record.tool),
  };
}

function textOf(text: string | undefined): string | undefined {
  return text === undefined || text.length < SHORTEST_KEY_LENGTH ? text : safeText(text);
}

/** Maximum delay and size of a batch of request lines. */
const BATCH_DELAY_MS = 50;
const BATCH_MAX_LENGTH = 64 * 1024;

/** Queue limit while the stream is blocked, in UTF-16 units, before the oldest request lines are dropped. */
const MAX_WAITING_LENGTH = 1024 * 1024;

/** Limit on data buffered in the stream before further lines are dropped: the memory cost of a stuck disk. */
const MAX_STREAM_BYTES = 1024 * 1024;

/** Node's writable streams have these; other streams are treated as never full. */
type LineStream = NodeJS.WritableStream & Pick<Partial<Writable>, 'writableNeedDrain' | 'writableLength' | 'destroyed'>;

interface Batch {
  readonly text: string;
  readonly lines: number;
}

/** The part of winston's log entry that is used here. */
interface Line {
  readonly [MESSAGE]?: string;
  /** Set for request lines, which are batched. */
  readonly record?: unknown;
}

/** Key of the formatted line in winston's entry. */
const MESSAGE = Symbol.for('message') as unknown as 'message';

/**
 * A winston transport that writes request lines in batches, every 50 ms or 64 KiB, and any other line at once.
 *
 * While the stream is blocked, batches are queued up to 1 MiB; beyond it the oldest are dropped and counted, because
 * the newest matter most. The stream is owned by the caller and never ended here. Its errors (a closed pipe, a full
 * disk) are ignored, because a service must not fail because of its log.
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
    // Without a listener this event would end the process. Later lines count as dropped.
    stream.on('error', () => undefined);
    stream.on('drain', () => {
      this.#drainQueue();
      onUnblocked();
    });
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  override log(line: Line, next: () => void): void {
    const text = line[MESSAGE] ?? '';
    if (line.record === undefined) this.#write({ text: `${text}\n`, lines: 1 });
    else this.#collect(text);
    next();
  }

  /** Writes queued lines even if the stream is blocked; resolves once they are accepted or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void> {
    this.#closeBatch();
    this.#drainQueue(true);
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
    this.#drainQueue();
    while (this.#waitingLength > MAX_WAITING_LENGTH) this.#dropped += this.#takeOldest()?.lines ?? 0;
  }

  #drainQueue(force = false): void {
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

/** Registers `log_lines_dropped_total`: log lines lost because the stream was blocked or broken. */
export function logMetrics(metrics: Metrics, log: Pick<ServiceLog, 'droppedLines'>): void {
  metrics.observedCounter({
    name: 'log_lines_dropped_total',
    help: 'Log lines lost because their stream was blocked or broken.',
    read: () => log.droppedLines,
  });
}
