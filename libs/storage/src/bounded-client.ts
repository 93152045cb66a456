import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, Connection, type PoolClient, Query, type QueryResult } from 'pg';
import { spanChannel, startSpan } from '@sealgate/observability';
import { connectFailure, isDiskFault, NeverSentError, READ_ONLY } from './database-errors.ts';
import { statementSpan, tracedQuery } from './statement-span.ts';
import type { TimelinePosition } from './timeline-memory.ts';
import type { Statement } from './sql.ts';

/** A leased connection; `release(true)` destroys it instead of returning it to the pool. */
export type LeasedClient = BoundedClient & PoolClient;

/** A connection that was idle for longer is checked for a close by the server before it gets a statement. */
const TRUSTED_IDLE_MS = 10;
/** A server that sends nothing for so long while a connection is made is taken for down. */
const SILENCE_MS = 1_000;
const CANCEL_TIMEOUT_MS = 1_000;

/** What a cancel request needs. pg keeps the server's BackendKeyData (null if there was none); its types leave it out. */
interface CancelTarget {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** Picks the server of a new connection. */
interface ServerChoice {
  /** URL of the server to connect to now. */
  readonly url: string;
  /** Re-reads the URL; returns its generation. */
  refresh(): number;
  /** Moves on from a server that cannot be used. */
  leave(url: string): void;
}

/** A pg client with a deadline for each lease: the timer destroys the socket, which fails the running statement. */
export class BoundedClient extends Client {
  /** Why the connection can no longer be used; undefined while it can. */
  broken: Error | undefined;
  /** Called if the connection breaks before the lease ends. */
  onBroken: ((error: Error) => void) | undefined;
  /** Called with each answer that the server could not write its disk. */
  onDiskFault: ((error: Error) => void) | undefined;
  isLeased = true;
  /** Generation of the URL that the connection was made with. */
  readonly generation: number;
  /** What its server told when the connection was made: the database, and how far it had come. */
  known: { readonly key: string; readonly position: TimelinePosition } | undefined;
  readonly #leaveServer: () => void;
  #timer: NodeJS.Timeout | undefined;
  #idleSinceMs = Infinity; // A new connection was never idle.

  constructor(servers: ServerChoice, config: ClientConfig) {
    const generation = servers.refresh();
    const { url } = servers;
    super({ ...config, connectionString: url });
    this.generation = generation;
    this.#leaveServer = () => servers.leave(url);
    this.on('error', (error) => this.#break(error)); // Without a listener the process would crash.
  }

  /**
   * Called by the pool, with a callback. A server that sends nothing for a second is taken for down; one that is far away
   * gets the whole connect time for its round trips.
   */
  override connect(...[callback]: unknown[]): never {
    // With TLS another stream takes its place, whose bytes count as activity of this one too.
    const stream = this.connection.stream as Socket;
    stream.setTimeout(SILENCE_MS, () => {
      this.connection.stream.destroy(Object.assign(new Error('The server is silent.'), { code: 'ETIMEDOUT' }));
    });
    return super.connect((error: Error | null | undefined) => {
      stream.setTimeout(0);
      if (error == null) return (callback as () => void)();
      this.#leaveServer();
      return (callback as (given: unknown) => void)(connectFailure(error)); // Prisma gets it from the pool as it is.
    }) as never;
  }

  /** The same as a promise. @throws the reason, as `connectFailure` gives it */
  connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.connect((error?: Error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** `host:port`, for people. */
  get server(): string {
    return `${this.host}:${this.port}`;
  }

  /** The server's process id as told at connect, which a pooler makes up. */
  get backendPid(): number | null {
    return (this as unknown as CancelTarget).processID;
  }

  /** Starts a lease of `ms`, or replaces the running one. */
  leaseFor(ms: number): void {
    clearTimeout(this.#timer);
    this.isLeased = true;
    this.#timer = setTimeout(expire, Math.max(0, ms), this);
  }

  endLease(): void {
    this.#stopTimer();
    this.isLeased = false;
    this.onBroken = undefined;
    this.#idleSinceMs = performance.now();
  }

  /**
   * Called by the timer. Sockets are polled once more first: an answer that came while this process was busy counts.
   */
  expire(): void {
    const timer = this.#timer;
    setImmediate(() => {
      if (timer === this.#timer)
        this.giveUp(Object.assign(new Error('The deadline has passed.'), { code: 'ETIMEDOUT' }));
    });
  }

  /** Ends the running statement here and on the server; the connection is not used again. */
  giveUp(reason: Error): void {
    this.destroy(reason);
    requestCancel(this as unknown as CancelTarget);
  }

  /** Destroys the socket; a running statement fails with `error`. */
  destroy(error: Error): void {
    this.#break(error);
    this.connection.stream.destroy(error);
  }

  /** Closes a connection whose server answers but must not be used. */
  refuse(error: Error): void {
    this.#leaveServer();
    this.destroy(error);
  }

  /** False where the server may have closed the connection without this process having polled the socket since. */
  isFresh(): boolean {
    return performance.now() - this.#idleSinceMs < TRUSTED_IDLE_MS && this.isOpen();
  }

  isOpen(): boolean {
    const { stream } = this.connection;
    return this.broken === undefined && stream.writable && stream.readable;
  }

  /**
   * Runs a statement. The `Query` is made here because pg would copy a plain object property by property, which costs
   * as much as all the rest of sending it.
   */
  ask({ name, text, values }: Statement): Promise<QueryResult> {
    if (this.broken !== undefined) return Promise.reject(new NeverSentError(this.broken));
    return new Promise((resolve, reject) => {
      const query: Query & { name?: string | undefined } = new Query(
        text,
        values as unknown[] | undefined,
        (error, result) => {
          if (error) {
            if ((error as { code?: unknown }).code === READ_ONLY) this.refuse(error);
            else if (isDiskFault(error)) this.onDiskFault?.(error);
            reject(error);
          } else resolve(result);
        },
      );
      query.name = name;
      this.query(query);
    });
  }

  /** Traces every statement, Prisma's too. Takes all argument forms of pg: see `tracedQuery`. */
  override query(...args: unknown[]): never {
    const ask = super.query.bind(this) as unknown as (...given: unknown[]) => never;
    const span = spanChannel.hasSubscribers ? startSpan(statementSpan(args[0])) : undefined;
    return span === undefined ? ask(...args) : tracedQuery(span, ask, args);
  }

  #break(error: Error): void {
    if (this.broken !== undefined) return;
    this.broken = error;
    this.#stopTimer();
    this.onBroken?.(error);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** One function for all timers: a closure per lease would be allocated per statement. */
const expire = (client: BoundedClient): void => client.expire();

/** What else pg's connection can do; its types leave these out. */
interface CancelConnection extends Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/**
 * Sends a CancelRequest (PostgreSQL protocol, "Canceling Requests in Progress") on a connection of its own. Best
 * effort: nothing is thrown, and it is over after `timeoutMs`.
 */
export function requestCancel(target: CancelTarget, timeoutMs = CANCEL_TIMEOUT_MS): void {
  const { host, port, ssl, processID, secretKey } = target;
  if (processID === null || secretKey === null) return;
  const connection = new Connection({ ssl }) as CancelConnection;
  const cancel = (): void => {
    connection.cancel(processID, secretKey);
    connection.stream.end();
  };
  connection.on('error', () => connection.stream.destroy());
  connection.on('connect', () => (ssl === false ? cancel() : connection.requestSsl()));
  connection.on('sslconnect', cancel);
  setTimeout(() => connection.stream.destroy(), timeoutMs).unref();
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
}
