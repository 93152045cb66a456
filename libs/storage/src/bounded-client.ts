import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, Connection, Query, type QueryResult } from 'pg';
import { spanChannel, startSpan } from '@sealgate/observability';
import type { Statement } from './database.ts';
import { connectFailure, NeverSentError, READ_ONLY } from './database-errors.ts';
import { statementSpan, tracedQuery } from './statement-span.ts';

/** A connection that was idle for longer is checked for a close by the server before it gets a statement. */
const TRUSTED_IDLE_MS = 10;
const CANCEL_TIMEOUT_MS = 1_000;

/** What a cancel request needs. pg keeps the server's BackendKeyData (null if there was none); its types leave it out. */
interface CancelTarget {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | ConnectionOptions;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** A pg client with a deadline for each lease: the timer destroys the socket, which fails the running statement. */
export class BoundedClient extends Client {
  /** Why the connection can no longer be used; undefined while it can. */
  broken: Error | undefined;
  /** Called if the connection breaks before the lease ends. */
  onBroken: ((error: Error) => void) | undefined;
  isLeased = true;
  /** Generation of the URL that the connection was made with. */
  readonly generation: number;
  readonly createdAtMs = performance.now();
  readonly #leaveServer: () => void;
  #timer: NodeJS.Timeout | undefined;
  #idleSinceMs = Infinity; // A new connection was never idle.

  constructor(servers: DatabaseServers, config: ClientConfig) {
    const generation = servers.refresh();
    const { url } = servers;
    super({ ...config, connectionString: url });
    this.generation = generation;
    this.#leaveServer = () => servers.leave(url);
    this.on('error', (error) => this.#break(error)); // Without a listener the process would crash.
  }

  /** Called by the pool, with a callback. */
  override connect(...[callback]: unknown[]): never {
    return super.connect((error: Error | null | undefined) => {
      if (error == null) return (callback as () => void)();
      this.#leaveServer();
      return (callback as (given: unknown) => void)(connectFailure(error)); // Prisma gets it from the pool as it is.
    }) as never;
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
      if (timer !== this.#timer) return;
      this.destroy(Object.assign(new Error('The deadline has passed.'), { code: 'ETIMEDOUT' }));
      requestCancel(this as unknown as CancelTarget);
    });
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

/** The role of a server, as queried on a new connection. */
export interface ServerRole {
  readonly standby: boolean;
  readonly read_only: boolean;
  /** System identifier of its cluster, and the name of the WAL file it writes; null if unavailable. */
  readonly cluster: string | null;
  readonly wal_file: string | null;
}

export const ROLE_TEXT = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only,
  (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END AS wal_file`;

/**
 * The newest timeline of each cluster that any pool of this process has seen. Each promotion starts a new one, so a
 * primary on an older timeline is a stale primary, even if it accepts writes.
 */
const newestTimelines = new Map<string, number>();

/**
 * The servers of a database URL; several as libpq writes them: `postgresql://user:password@h1:5432,h2:5433/db`. A
 * server that works is used until it fails; then the next is tried, in the order of the URL.
 */
export class DatabaseServers {
  /** Undefined unless the URL is read from a file. */
  readonly #file: URL | undefined;
  #text: string;
  #readAtMs = performance.now();
  #urls: readonly string[] = [];
  #mustWrite = false;
  #at = 0;
  /** Incremented each time the URL in the file changes: connections of an older generation are retired. */
  generation = 0;

  /** A `file:` URL names a file that holds the URL. @throws Error where the file is missing or holds no URL. */
  constructor(url: string) {
    this.#file = url.startsWith('file:') ? new URL(url) : undefined;
    this.#text = this.#file === undefined ? url : textOf(this.#file);
    this.#take(this.#text);
  }

  #take(text: string): void {
    const { urls, attributes } = serversOf(text);
    this.#urls = urls;
    this.#at = 0;
    this.#mustWrite = urls.length > 1 || attributes === 'read-write' || attributes === 'primary';
  }

  /**
   * Re-reads the file, at most once a second. A missing file or one without a URL changes nothing: it may be in the
   * middle of a replacement. Returns the generation.
   */
  refresh(): number {
    if (this.#file === undefined || performance.now() - this.#readAtMs < READ_EVERY_MS) return this.generation;
    this.#readAtMs = performance.now();
    try {
      const text = textOf(this.#file);
      if (text === this.#text) return this.generation;
      this.#take(text);
      this.#text = text;
      this.generation += 1;
    } catch {
      // Keep the previous URL.
    }
    return this.generation;
  }

  /** Whether only a server that takes writes is used: with several servers, or if target_session_attrs says so. */
  get mustWrite(): boolean {
    return this.#mustWrite;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** URL of the server to connect to now. */
  get url(): string {
    return this.#urls[this.#at]!;
  }

  /** Moves on from a server that cannot be used; a no-op if it is not the current one. */
  leave(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /** Why a server that answers must not be used; undefined if it may. */
  fault({ standby, read_only: readOnly, cluster, wal_file: walFile }: ServerRole): string | undefined {
    if (standby) return 'The server is a standby.';
    if (readOnly) return 'The server takes no writes.';
    if (cluster === null || walFile === null) return undefined;
    // The first eight digits are the timeline.
    const timeline = Number.parseInt(walFile.slice(0, 8), 16);
    const newest = newestTimelines.get(cluster) ?? timeline;
    if (timeline < newest) return 'The server is a stale primary: another one was promoted since.';
    newestTimelines.set(cluster, timeline);
    return undefined;
  }
}

/** A mounted Secret changes rarely, and a connection refused for its password triggers a re-read. */
const READ_EVERY_MS = 1000;

function textOf(file: URL): string {
  const text = readFileSync(file, 'utf8').trim();
  if (!/^postgres(ql)?:\/\//i.test(text)) throw new Error(`${file.pathname} holds no URL of PostgreSQL.`);
  return text;
}

const PARTS = /^([a-z]+:\/\/)((?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
const ATTRIBUTES = 'target_session_attrs';

function serversOf(text: string): { urls: string[]; attributes: string | null } {
  const [, scheme = '', user = '', hosts = '', rest = ''] = PARTS.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => (hosts.includes(',') ? `${scheme}${user}${host}${rest}` : text));
  if (!rest.includes(ATTRIBUTES)) return { urls, attributes: null };
  const attributes = new URL(urls[0]!).searchParams.get(ATTRIBUTES);
  // pg would send the parameter to the server, which does not know it.
  const without = urls.map((url) => {
    const parsed = new URL(url);
    parsed.searchParams.delete(ATTRIBUTES);
    return parsed.href;
  });
  return { urls: without, attributes };
}
