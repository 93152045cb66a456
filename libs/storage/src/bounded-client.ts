import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, Connection, Query, type QueryResult } from 'pg';
import { spanChannel, startSpan } from '@sealgate/observability';
import type { Statement } from './database.ts';
import { NeverSentError, READ_ONLY } from './database-errors.ts';
import { statementSpan, tracedQuery } from './statement-span.ts';

/** A connection that was idle for longer is checked for a close by the server before it gets a statement. */
const TRUSTED_IDLE_MS = 10;

const CANCEL_TIMEOUT_MS = 1_000;

/** What else pg reads from a query: it prepares one that has a name. Its types leave this out. */
interface NamedQuery extends Query {
  name?: string | undefined;
}

/** What pg keeps of the server's BackendKeyData. Its types leave this out. */
interface BackendKey {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

interface BoundedClientOptions extends ClientConfig {
  /** Generation of the URL that the connection was made with; see `DatabaseServers`. */
  readonly generation: number;
  /** Called when the server cannot be reached or takes no writes. */
  readonly onUnusable: () => void;
}

/** A pg client with a deadline for each lease: the timer destroys the socket, which fails the running statement. */
export class BoundedClient extends Client {
  /** Why the connection can no longer be used; undefined while it can. */
  broken: Error | undefined;
  /** Called if the connection breaks before the lease ends. */
  onBroken: ((error: Error) => void) | undefined;
  isLeased = true;
  readonly generation: number;
  readonly createdAtMs = performance.now();
  readonly #onUnusable: () => void;
  #timer: NodeJS.Timeout | undefined;
  #idleSinceMs = Infinity; // A new connection was never idle.

  constructor({ generation, onUnusable, ...config }: BoundedClientOptions) {
    super(config);
    this.generation = generation;
    this.#onUnusable = onUnusable;
    this.on('error', (error) => this.#break(error)); // Without a listener the process would crash.
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<this> | void {
    if (callback === undefined) throw new Error('The pool connects with a callback.');
    super.connect((error: Error | null | undefined) => {
      if (error != null) this.#onUnusable();
      callback(error as Error); // null on success; the types of pg leave that out.
    });
  }

  /** The server's BackendKeyData, which a pooler makes up. */
  get backendKey(): BackendKey {
    return this as unknown as BackendKey;
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
      if (timer !== this.#timer) return;
      this.destroy(Object.assign(new Error('The deadline has passed.'), { code: 'ETIMEDOUT' }));
      const { host, port, ssl } = this;
      const { processID, secretKey } = this.backendKey;
      if (processID !== null && secretKey !== null) requestCancel({ host, port, ssl, processID, secretKey });
    });
  }

  /** Destroys the socket; a running statement fails with `error`. */
  destroy(error: Error): void {
    this.#break(error);
    this.connection.stream.destroy(error);
  }

  /** Closes a connection whose server answers but must not be used. */
  refuse(error: Error): void {
    this.#onUnusable();
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
      const query: NamedQuery = new Query(text, values as unknown[] | undefined, (error, result) => {
        if (error) {
          if ((error as { code?: unknown }).code === READ_ONLY) this.refuse(error);
          reject(error);
        } else resolve(result);
      });
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

interface CancelTarget {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly processID: number;
  readonly secretKey: number;
}

/** pg's connection, which its types declare in part only. */
interface PlainConnection extends Connection {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/**
 * Sends a CancelRequest (PostgreSQL protocol, "Canceling Requests in Progress") on a connection of its own. Best
 * effort: nothing is thrown, and it is over after `timeoutMs`.
 */
export function requestCancel(target: CancelTarget, timeoutMs = CANCEL_TIMEOUT_MS): void {
  const { host, port, ssl, processID, secretKey } = target;
  const connection = new Connection({ ssl }) as PlainConnection;
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
