import { Client, type ClientConfig, Query, type QueryResult } from 'pg';
import { requestCancel } from './cancel-request.ts';
import { spanChannel, startSpan } from '@sealgate/observability';
import type { Statement } from './database.ts';
import { NeverSentError, READ_ONLY } from './database-errors.ts';
import { statementSpan, tracedQuery } from './statement-span.ts';

/** A connection that rested this long is looked at again before it is trusted with a statement. */
const TRUSTED_REST_MS = 10;

/** What pg keeps of the server's BackendKeyData; its types leave it out. */
interface BackendKey {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** What else pg reads from a query: it prepares one that has a name. Its types leave these out. */
interface NamedQuery extends Query {
  name?: string | undefined;
  binary?: boolean | undefined;
}

export interface BoundedClientOptions extends ClientConfig {
  readonly connectTimeoutMs: number;
  /** Told when the server of this connection was found not to be of use: it cannot be reached, or takes no writes. */
  readonly onUseless: () => void;
  /** Of the URL that it was made with; see `DatabaseServers`. */
  readonly generation: number;
}

/**
 * One connection whose every use has an end: while it is leased a timer runs, and when that fires the connection is
 * destroyed, which fails the statement on it. It never goes back to the pool in an unknown state.
 */
export class BoundedClient extends Client {
  /** Why the connection is of no more use; undefined while it is sound. */
  broken: Error | undefined;
  leased = true;

  readonly #connectTimeoutMs: number;
  readonly #onUseless: () => void;
  readonly generation: number;
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Immediate | undefined;
  #restingSince = Infinity; // A new connection has not rested yet.
  #asking = false;
  #onQuiet: (() => void) | undefined;
  #onBroken: ((error: Error) => void) | undefined;

  constructor(options: BoundedClientOptions) {
    super({ ...options, connectionTimeoutMillis: options.connectTimeoutMs });
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#onUseless = options.onUseless;
    this.generation = options.generation;
    this.on('error', (error) => this.#breaks(error)); // Without a listener the process would crash.
    this.on('drain', () => this.#quiet());
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<this> | void {
    if (callback === undefined) throw new Error('The pool connects with a callback.');
    super.connect((error: Error | undefined) => {
      if (error !== undefined && error !== null) this.#onUseless();
      callback(error as Error); // None where it is connected; the types of pg leave that out.
    });
  }

  /** Whether a pooler stands between: what it gave for the server's process is none. Undefined where pg was told none. */
  isPooled(serverProcessId: number): boolean {
    const { processID } = this as unknown as BackendKey;
    return processID !== null && processID !== serverProcessId;
  }

  /** Closes a connection that answers and must not be used. */
  refuse(error: Error): void {
    this.#onUseless();
    this.destroy(error);
  }

  /** Gives the connection `ms` from now; a lease that was running is replaced. */
  leaseFor(ms: number): void {
    this.#endTimers();
    this.leased = true;
    // A connection may come at the very end of what it was waited for.
    this.#timer = setTimeout(lastChance, Math.max(0, ms), this);
  }

  endLease(): void {
    this.#endTimers();
    this.leased = false;
    this.#onBroken = undefined;
    this.#restingSince = performance.now();
  }

  /** Called when the timer has fired: an answer that arrived while this process was busy elsewhere still counts. */
  grantLastChance(): void {
    this.#grace = setImmediate(() => {
      const { processID, secretKey } = this as unknown as BackendKey;
      this.destroy(Object.assign(new Error('The deadline has passed.'), { code: 'ETIMEDOUT' }));
      if (processID === null || secretKey === null) return;
      const { host, port, ssl } = this;
      requestCancel({ host, port, ssl, processId: processID, secretKey }, this.#connectTimeoutMs);
    });
  }

  /** Cuts the connection at once; a statement that runs on it fails with `error`. */
  destroy(error: Error): void {
    this.#breaks(error);
    this.connection.stream.destroy(error);
  }

  /** False after a long rest, in which the other side may have gone without this process having noticed. */
  isFresh(): boolean {
    return performance.now() - this.#restingSince < TRUSTED_REST_MS && this.isOpen();
  }

  /** False when the other side is known to have gone. */
  isOpen(): boolean {
    const { stream } = this.connection;
    return this.broken === undefined && stream.writable && stream.readable;
  }

  /**
   * pg's `query`. The query object is made here because pg would copy a plain one property by property, which costs as
   * much as all the rest of sending it.
   */
  ask({ name, text, values }: Statement): Promise<QueryResult> {
    if (this.broken !== undefined) return Promise.reject(new NeverSentError(this.broken));
    this.#asking = true;
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

  /**
   * Every statement comes through here, Prisma's too. Their forms are pg's: a `Query` with its callback, arguments that end
   * in a callback, or arguments alone, for a promise.
   */
  override query(...args: unknown[]): never {
    const ask = super.query.bind(this) as unknown as (...given: unknown[]) => never;
    const span = spanChannel.hasSubscribers ? startSpan(statementSpan(args[0])) : undefined;
    return span === undefined ? ask(...args) : tracedQuery(span, ask, args);
  }

  /** Resolves when the server waits for the next statement, or when the connection broke. */
  settled(): Promise<void> {
    if (!this.#asking || this.broken !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onQuiet = resolve;
    });
  }

  /** `listener` hears once if the connection breaks before the lease ends. */
  whenBroken(listener: (error: Error) => void): void {
    if (this.broken !== undefined) listener(this.broken);
    else this.#onBroken = listener;
  }

  #breaks(error: Error): void {
    if (this.broken !== undefined) return;
    this.broken = error;
    this.#endTimers();
    this.#onBroken?.(error);
    this.#quiet();
  }

  #quiet(): void {
    this.#asking = false;
    this.#onQuiet?.();
    this.#onQuiet = undefined;
  }

  #endTimers(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#grace);
  }
}

/** One function for all timers, so that arming one allocates no closure. */
function lastChance(client: BoundedClient): void {
  client.grantLastChance();
}
