import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { BoundedClient, type LeasedClient } from './bounded-client.ts';
import { BoundedPool } from './bounded-pool.ts';
import { DatabaseServers, roleOf } from './database-servers.ts';
import {
  connectFailure,
  DatabaseFullError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isPreparedElsewhere,
  ServerUnfitError,
  statementFailure,
} from './database-errors.ts';
import { probeDisk } from './probe-disk.ts';
import type { TimelineMemory } from './timeline-memory.ts';
import { runTransaction, type TransactionOptions } from './transaction.ts';
import { giveUpWith, lookingClient, restMsOf, ResultTurns, type Looking } from './looking.ts';
import type { Sql, Statement } from './sql.ts';

const IDLE_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
/** Maximum callers queued for a connection; the next one is refused at once. */
const MAX_WAITING = 2_000;
/** Timers that differ by less count as equal. */
const TIMER_PRECISION_MS = 1;
/** A new connection is asked for its server's role; longer silence means that the server is down. */
const ANSWER_WITHIN_MS = 1_000;
const CLOSE_POLL_MS = 5;
/** How long `close` waits for the server to close its end. */
const GOODBYE_MS = 500;

/** A connection pool of which no call hangs: each ends at its deadline, whatever the server does. */
export interface Database extends Sql {
  /**
   * Runs `work` between BEGIN and COMMIT on one connection; `deadlineMs` covers all of it. When `work` throws, the
   * transaction is rolled back and the error is rethrown. The commit waits for the synchronous standby also where `work`
   * wrote nothing, so that what it found may be told; so does the end of one that `work` refuses with a 409.
   *
   * @throws DatabaseUnavailableError with `sent: true` when the answer to COMMIT was lost.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Makes one round trip within `deadlineMs`. @throws DatabaseUnavailableError */
  ping(deadlineMs: number): Promise<void>;
  /** The same connections as `pg.Pool`, for Prisma's adapter. Each lease has the default deadline too. */
  readonly pool: Pool;
  /**
   * Why the disk of the server takes no writes; undefined as long as no statement met that. After one did, each call
   * writes and undoes a mebibyte, so that it notices when there is space again. Never rejects.
   */
  diskProblem(deadlineMs: number): Promise<string | undefined>;
  /** For a further pool of the same service. */
  readonly timelines: TimelineMemory;
  /** Waits for running statements (each ends at its deadline), then closes every connection. */
  close(): Promise<void>;
  /** Open connections, idle ones, and callers queued for one. */
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number };
}

export interface DatabaseOptions {
  /**
   * One server, or several as libpq writes them: `postgresql://u:p@h1:5432,h2:5432/db?target_session_attrs=read-write`.
   * Or `file:///path` of a file that holds the URL: once its content changes, older connections get no new statement.
   */
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /**
   * How long a new connection may take in all. Not a deadline of a caller, who leaves at its own: TCP, TLS and
   * authentication are up to eight round trips. A server that is silent for a second is given up sooner.
   */
  readonly connectTimeoutMs: number;
  /** Default deadline of a call. */
  readonly deadlineMs: number;
  /** Present in a pool of those who look: see `Looking`. */
  readonly looking?: Looking | undefined;
  /**
   * Whether statements keep their names. Behind PgBouncer in transaction mode a name may reach a server connection that
   * does not hold it, so by default names are dropped once a pooler is detected; `true` is for a pooler that tracks
   * them.
   */
  readonly preparedStatements?: boolean | undefined;
  /** What is remembered of timelines, shared by the pools of a service. Default: what this process has seen. */
  readonly timelines?: TimelineMemory | undefined;
  /** Called once, when names are dropped because a pooler was detected. */
  readonly onPooler?: () => void;
  /** Called when a statement met a disk that takes no writes, and, with undefined, once it does again. */
  readonly onDisk?: (problem: string | undefined) => void;
  /** Called when an idle connection broke. */
  readonly onIdleError?: (error: Error) => void;
}

/**
 * Opens a pool; connections are made on demand, so nothing is thrown here for a server that is away.
 *
 * - A statement without an answer at its deadline fails; its connection is destroyed, and a cancel request is sent.
 * - After a cut or a missed deadline every idle connection is dropped, so the next statement gets a fresh one.
 * - A statement is sent a second time only when the first certainly did not leave this process as a whole.
 * - No session state: any statement may run on any connection.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const connections = new ConnectionPool(options);
  const { pool } = connections;
  const { looking } = options;
  const turns = looking && new ResultTurns(looking.yields ?? (() => false));
  const transaction: Database['transaction'] = (work, { deadlineMs = options.deadlineMs, isSnapshot = false } = {}) =>
    runTransaction(connections, work, { deadlineMs, isSnapshot });

  const query: Database['query'] = (statement, { deadlineMs = options.deadlineMs } = {}) => {
    const signal = looking && lookingClient()?.signal;
    const found = runStatement(connections, statement, { endsAt: performance.now() + deadlineMs, signal, looking });
    return turns === undefined ? found : found.then((rows) => turns.next(rows));
  };

  return {
    query,
    transaction,
    diskProblem: async (deadlineMs) => {
      if (connections.diskProblem !== undefined)
        await probeDisk(transaction, deadlineMs, () => connections.diskWorks());
      return connections.diskProblem;
    },
    ping: async (deadlineMs) => {
      await query({ text: 'SELECT 1' }, { deadlineMs });
    },
    pool,
    timelines: connections.timelines,
    close: () => connections.close(),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waiting }),
  };
}

interface Until {
  readonly endsAt: number;
  readonly signal: AbortSignal | undefined;
  readonly looking: Looking | undefined;
}

async function runStatement(
  connections: ConnectionPool,
  statement: Statement,
  until: Until,
  retries = 1,
): Promise<never[]> {
  const client = await connections.lease(until.endsAt);
  const startedAt = performance.now();
  const ended = until.signal === undefined ? undefined : giveUpWith(client, until.signal);
  try {
    const { rows } = await client.ask(connections.prepared(statement));
    ended?.();
    releaseAfter(client, startedAt, until);
    return rows as never[]; // The caller declares the row type.
  } catch (error) {
    ended?.();
    const failure = statementFailure(error, client.broken);
    client.release(!failure.reusable);
    if (isPreparedElsewhere(error)) connections.dropNames();
    const mayRetry = failure.neverSent || (failure.outOfStep === true && statement.name !== undefined);
    if (!mayRetry || retries === 0 || until.signal?.aborted === true) throw failure.error;
    // After a migration every connection may hold a plan that no longer fits: without a name there is none to hold.
    const again = failure.outOfStep === true ? unnamed(statement) : statement;
    return runStatement(connections, again, until, retries - 1);
  }
}

/** Gives the connection back, after a rest if it looks and somebody decides. */
function releaseAfter(client: LeasedClient, startedAt: number, { endsAt, looking }: Until): void {
  const now = performance.now();
  const restMs = looking === undefined ? 0 : restMsOf(looking, { tookMs: now - startedAt, leftMs: endsAt - now - 50 });
  if (restMs < 1) client.release();
  else setTimeout(() => client.release(), restMs);
}

const unnamed = ({ name: _dropped, ...statement }: Statement): Statement => statement;

const isUnfit = (error: unknown): boolean => error instanceof ServerUnfitError;

/** An idle connection was destroyed because another one of the pool broke, or the URL has changed. */
class SuspectedError extends Error {}

// What pg and pg-pool cannot do, and only that: see "Why the pool has code of its own" in the README.

/** pg's pool with a bound on every wait; idle connections are dropped once one connection has broken. */
class ConnectionPool {
  readonly pool: BoundedPool;
  readonly #options: DatabaseOptions;
  readonly #servers: DatabaseServers;
  readonly #clients = new Set<BoundedClient>();
  /** Whether statements keep their names; undefined until a connection has shown whether there is a pooler. */
  #named: boolean | undefined;
  readonly #stopListening: () => void;
  /** Why the disk takes no writes, as the last statement that met it said. */
  diskProblem: string | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#servers = new DatabaseServers(options.url, options.timelines);
    this.#named = options.preparedStatements;
    this.pool = this.#makePool();
    void this.#servers.surveyed();
    this.#stopListening = this.timelines.onAdvance(() => this.#dropStale());
  }

  get timelines(): TimelineMemory {
    return this.#servers.timelines;
  }

  /**
   * A sound connection, leased until `endsAt` (on the clock of `performance.now()`).
   *
   * @throws DatabaseUnavailableError with `sent: false`, at `endsAt` at the latest.
   */
  async lease(endsAt: number, serversLeft = this.#servers.count, earlier?: unknown): Promise<LeasedClient> {
    const { generation } = this.#servers;
    let client: LeasedClient;
    try {
      client = await this.#take(endsAt - performance.now());
    } catch (error) {
      const isRefused = error instanceof DatabaseRefusedError;
      // The file of the URL may hold the new password by now.
      if (isRefused && this.#servers.refresh() !== generation) return this.lease(endsAt);
      // A former primary says more than that the other servers are away or standbys.
      const isStale = earlier instanceof ServerUnfitError && (earlier.kind === 'stale' || !isUnfit(error));
      const telling = isStale ? earlier : error;
      // Each server is tried once.
      if (!isRefused && serversLeft > 1) return this.lease(endsAt, serversLeft - 1, telling);
      throw telling;
    }
    if (!client.isFresh()) {
      await freshPoll();
      if (!client.isOpen()) {
        client.release(true);
        return this.lease(endsAt);
      }
    }
    // The pool gave the default deadline; a call that waited, or has a deadline of its own, gets what is left.
    const leftMs = endsAt - performance.now();
    if (Math.abs(leftMs - this.#options.deadlineMs) > TIMER_PRECISION_MS) client.leaseFor(leftMs);
    return client;
  }

  diskWorks(): void {
    if (this.diskProblem === undefined) return;
    this.diskProblem = undefined;
    this.#options.onDisk?.(undefined);
  }

  #diskFailed(error: Error): void {
    const isNew = this.diskProblem === undefined;
    this.diskProblem = new DatabaseFullError(error).reason;
    if (isNew) this.#options.onDisk?.(this.diskProblem);
  }

  /** The statement as it may be sent: without its name behind a pooler. */
  prepared(statement: Statement): Statement {
    return this.#named === false ? unnamed(statement) : statement;
  }

  /** A pooler was found: from now on statements go without names. */
  dropNames(): void {
    if (this.#named === false) return;
    this.#named = false;
    this.#options.onPooler?.();
  }

  /** Queued callers and leases end at their deadlines; what is left after that is destroyed. */
  close(): Promise<void> {
    this.#stopListening();
    const close = async (): Promise<void> => {
      const endsAt = performance.now() + this.#options.deadlineMs;
      await waitWhile(() => this.pool.waiting > 0, endsAt);
      void this.pool.end();
      await waitWhile(() => this.pool.totalCount > 0, endsAt);
      await waitWhile(() => this.#clients.size > 0, performance.now() + GOODBYE_MS);
      for (const client of this.#clients) client.destroy(new Error('The database was closed.'));
    };
    return (this.#closed ??= close());
  }

  #makePool(): BoundedPool {
    const { applicationName, maxConnections, connectTimeoutMs, deadlineMs, looking, onIdleError } = this.#options;
    const servers = this.#servers;
    const pool = new BoundedPool(deadlineMs, {
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- The pool awaits it; its types do not say so.
      onConnect: (client) => this.#admit(client as LeasedClient),
      max: maxConnections,
      isFair: looking !== undefined,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      // A caller leaves at its deadline; the connection that it caused is made nevertheless, for the next one.
      connectionTimeoutMillis: Math.max(deadlineMs, connectTimeoutMs),
      // The URL stays in here: everyone who holds the pool can read the pool's options.
      Client: class extends BoundedClient {
        constructor() {
          super(servers, {
            application_name: applicationName,
            keepAlive: true,
            keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
            connectionTimeoutMillis: connectTimeoutMs,
          });
        }
      },
    });
    // The pool makes its clients of the class above.
    const bounded = (client: PoolClient): BoundedClient => client as LeasedClient;
    pool.on('connect', (client) => {
      this.#clients.add(bounded(client));
      bounded(client).onDiskFault = (error) => this.#diskFailed(error);
      client.on('error', (error) => this.#dropIdle(error));
    });
    pool.on('remove', (client) => this.#clients.delete(bounded(client)));
    pool.on('acquire', (client) => bounded(client).leaseFor(deadlineMs));
    pool.on('release', (_error, client) => this.#released(bounded(client)));
    pool.on('error', (error) => {
      if (!(error instanceof SuspectedError)) onIdleError?.(error);
    });
    return pool;
  }

  /** Runs on each new connection before its first use. @throws DatabaseUnavailableError if it must not be used. */
  async #admit(client: BoundedClient): Promise<void> {
    const { mustWrite } = this.#servers;
    const statementTimeoutMs = this.#options.looking?.statementTimeoutMs;
    if (this.#named !== undefined && !mustWrite && statementTimeoutMs === undefined) return;
    if (mustWrite) await this.#servers.surveyed();
    client.leaseFor(ANSWER_WITHIN_MS);
    const { pid, ...role } = await roleOf(client, mustWrite);
    // A pooler makes up the process id that it gives a client.
    const isPooled = client.backendPid !== null && client.backendPid !== pid;
    if (this.#named === undefined) {
      if (isPooled) this.dropNames();
      else this.#named = true;
    }
    if (statementTimeoutMs !== undefined && !isPooled)
      await client.ask({ text: `SET statement_timeout = ${Math.ceil(statementTimeoutMs)}` });
    if (!mustWrite) return;
    const { known, fault } = await this.#servers.judge(client.server, role);
    client.known = known;
    if (fault === undefined) return;
    client.refuse(fault);
    throw fault;
  }

  /** A newer timeline was learnt: connections to its predecessor are not used again. */
  #dropStale(): void {
    for (const client of this.#clients) {
      if (!client.isLeased && client.broken === undefined && this.#isStale(client))
        client.destroy(new SuspectedError('Another server was promoted.'));
    }
  }

  #isStale({ known }: BoundedClient): boolean {
    return known !== undefined && this.timelines.isBehind(known.key, known.position);
  }

  #released(client: BoundedClient): void {
    client.endLease();
    const before = this.#servers.generation;
    if (this.#servers.refresh() !== before) this.#dropIdle(new Error('The URL of the database has changed.'));
    // Never reuse a connection inside another caller's transaction, or one of a role that is about to be removed.
    const isCurrent = client.generation === this.#servers.generation && !this.#isStale(client);
    if (client.getTransactionStatus() !== 'I' || !isCurrent) void client.end();
  }

  #dropIdle(cause: Error): void {
    if (cause instanceof SuspectedError) return;
    for (const client of this.#clients) {
      if (!client.isLeased && client.broken === undefined)
        client.destroy(new SuspectedError('Dropped while idle.', { cause }));
    }
  }

  #take(waitMs: number): Promise<LeasedClient> {
    return new Promise((resolve, reject) => {
      const refuse = (detail: string): void => reject(new DatabaseUnavailableError(detail, { sent: false }));
      if (waitMs <= 0) return refuse('The deadline has passed.');
      if (this.pool.waiting >= MAX_WAITING) return refuse('Too many callers wait for a connection.');
      return this.pool.take(waitMs, (error, client) => {
        if (client === undefined) reject(connectFailure(error));
        else resolve(client as LeasedClient);
      });
    });
  }
}

async function waitWhile(condition: () => boolean, endsAt: number): Promise<void> {
  while (condition() && performance.now() < endsAt) await pause(CLOSE_POLL_MS);
}

/**
 * Resolves after the event loop has polled its sockets: an end or reset that had arrived before the call is known then.
 */
function freshPoll(): Promise<void> {
  // The first immediate may run before the next poll, the second runs after it.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
