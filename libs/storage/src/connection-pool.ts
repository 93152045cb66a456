import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { activeSpan } from '@sealgate/observability';
import { BoundedClient } from './bounded-client.ts';
import type { DatabaseOptions, Statement } from './database.ts';
import { connectFailure } from './database-errors.ts';
import { DatabaseServers, ROLE_TEXT, type ServerRole } from './database-servers.ts';
import { DatabaseRefusedError, DatabaseUnavailableError } from './database-unavailable-error.ts';

const IDLE_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
/** Callers that may wait for a connection at a time; the next one is refused at once. */
const MAX_WAITING = 2_000;
/** Timers that differ by less are the same timer. */
const TIMER_PRECISION_MS = 1;
const CLOSE_POLL_MS = 5;
/** How long goodbyes to the server may take. */
const GOODBYE_MS = 500;

/** A leased connection; `release(true)` closes it instead of giving it back. */
export type LeasedClient = BoundedClient & PoolClient;

export interface ConnectionPool {
  readonly pool: Pool;
  /**
   * A sound connection, leased until `endsAt` (a moment of `performance.now()`).
   *
   * @throws DatabaseUnavailableError with `sent: false`, at `endsAt` at the latest.
   */
  lease(endsAt: number): Promise<LeasedClient>;
  /** The statement as a leased connection may be asked it: without its name where a pooler stands between. */
  prepared(statement: Statement): Statement;
  /** A name met a server connection that does not hold it: from now on statements go without. */
  dropNames(): void;
  close(): Promise<void>;
}

/** pg's pool with every wait bounded, and with no trust in idle connections once one of them has been cut. */
export function openPool(options: DatabaseOptions): ConnectionPool {
  const clients = new Set<BoundedClient>();
  const servers = new DatabaseServers(options.url);
  /** Undefined: no connection has told yet whether a pooler stands between. */
  let named = options.preparedStatements;
  const dropNames = (): void => {
    if (named === false) return;
    named = false;
    options.onPooler?.();
  };

  /** Before its first use a connection says what stands at its other end, where that is to be known. */
  const look = async (client: BoundedClient): Promise<void> => {
    if (named !== undefined && !servers.mustWrite) return;
    client.leaseFor(options.connectTimeoutMs);
    const { pid, ...role } = await roleOf(client, servers.mustWrite);
    if (named === undefined) {
      if (client.isPooled(pid)) dropNames();
      else named = true;
    }
    const fault = servers.mustWrite ? servers.fault(role) : undefined;
    if (fault === undefined) return;
    const error = new DatabaseUnavailableError(fault, { sent: false });
    client.refuse(error);
    throw error;
  };
  const pool = makePool(options, servers, look);

  const suspectIdle = (cause: Error): void => {
    for (const client of clients) {
      if (!client.leased && client.broken === undefined) client.destroy(new SuspectedError(cause));
    }
  };
  /** Where the file of the URL holds another one, connections that rest go; the others when they are given back. */
  const retireIdle = (): void => {
    const before = servers.generation;
    if (servers.refresh() === before) return;
    suspectIdle(new Error('The URL of the database is another one now.'));
  };
  // The pool makes its clients from the class it was given.
  const bounded = (client: PoolClient): LeasedClient => client as LeasedClient;

  pool.on('connect', (client) => {
    clients.add(bounded(client));
    client.once('end', () => clients.delete(bounded(client)));
    client.on('error', suspectIdle);
  });
  pool.on('acquire', (client) => bounded(client).leaseFor(options.deadlineMs));
  pool.on('release', (_error, client) => {
    bounded(client).endLease();
    retireIdle();
    // Nobody may get a connection with somebody else's transaction on it, or one of a role that is about to go.
    const isOfNow = bounded(client).generation === servers.generation;
    if (client.getTransactionStatus() !== 'I' || !isOfNow) void client.end();
  });
  pool.on('error', (error) => {
    if (!(error instanceof SuspectedError)) options.onIdleError?.(error);
  });

  /** Each server is asked once. */
  const lease = (endsAt: number, serversLeft = servers.count): Promise<LeasedClient> =>
    new Promise((resolve, reject) => {
      const waitMs = endsAt - performance.now();
      const { generation } = servers;
      take({ pool, waitMs, poolLimitMs: options.deadlineMs }, (error, client) => {
        if (client === undefined) {
          // The password was changed, and the file has the new one.
          if (error instanceof DatabaseRefusedError && servers.refresh() !== generation) return resolve(lease(endsAt));
          const mayOtherServe = serversLeft > 1 && !(error instanceof DatabaseRefusedError);
          return mayOtherServe ? resolve(lease(endsAt, serversLeft - 1)) : reject(error);
        }
        const leased = bounded(client);
        return resolve(leased.isFresh() ? ready(leased, endsAt) : lookedAt(leased, endsAt));
      });
    });

  /** The pool gave every lease the same time; one that waited, or asked for another, gets what is left. */
  const ready = (client: LeasedClient, endsAt: number): LeasedClient => {
    const leftMs = endsAt - performance.now();
    if (Math.abs(leftMs - options.deadlineMs) > TIMER_PRECISION_MS) client.leaseFor(leftMs);
    return client;
  };

  const lookedAt = async (client: LeasedClient, endsAt: number): Promise<LeasedClient> => {
    await freshPoll();
    if (client.isOpen()) return ready(client, endsAt);
    client.release(true);
    return lease(endsAt);
  };

  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= closePool(pool, clients, options.deadlineMs));

  const prepared = (statement: Statement): Statement => (named === false ? unnamed(statement) : statement);

  return { pool, lease: (endsAt) => lease(endsAt), prepared, dropNames, close };
}

const unnamed = ({ name: _dropped, ...statement }: Statement): Statement => statement;

interface Answer extends ServerRole {
  readonly pid: number;
}

/** Not every service that speaks PostgreSQL has timelines to tell of. */
async function roleOf(client: BoundedClient, mustWrite: boolean): Promise<Answer> {
  const simple = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
    current_setting('transaction_read_only') = 'on' AS read_only, NULL AS cluster, NULL AS wal_file`;
  const ask = async (text: string): Promise<Answer> => (await client.ask({ text })).rows[0] as Answer;
  if (!mustWrite) return ask(simple);
  try {
    return await ask(ROLE_TEXT);
  } catch (error) {
    if (client.broken !== undefined) throw error;
    await client.settled();
    return ask(simple);
  }
}

/** What waited for a connection goes on as part of its own trace, and not of the one that gave the connection back. */
class TracedPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (callback === undefined) return super.connect();
    return super.connect(activeSpan() === undefined ? callback : AsyncLocalStorage.bind(callback));
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** An idle connection that was given up because another one of the pool was cut. */
class SuspectedError extends Error {
  constructor(cause: Error) {
    super('Another connection to the database was cut.', { cause });
    this.name = 'SuspectedError';
  }
}

function makePool(
  options: DatabaseOptions,
  servers: DatabaseServers,
  look: (client: BoundedClient) => Promise<void>,
): Pool {
  return new TracedPool({
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- The pool waits for it; its types do not say so.
    onConnect: (client) => look(client as LeasedClient),
    max: options.maxConnections,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // The pool uses it for waiting in its queue too; connecting has its own limit in the client.
    connectionTimeoutMillis: options.deadlineMs,
    // The address stays in here: the pool's own options are readable by everyone who holds the pool.
    Client: class extends BoundedClient {
      constructor() {
        const generation = servers.refresh();
        const { url } = servers;
        super({
          connectionString: url,
          generation,
          onUseless: () => servers.leave(url),
          application_name: options.applicationName,
          keepAlive: true,
          keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
          connectTimeoutMs: options.connectTimeoutMs,
        });
      }
    },
  });
}

interface Wait {
  readonly pool: Pool;
  readonly waitMs: number;
  /** The pool itself ends every wait after this time. */
  readonly poolLimitMs: number;
}

/** Calls back once, with a connection or with the error to tell. */
function take(wait: Wait, done: (error: unknown, client?: PoolClient) => void): void {
  const { pool, waitMs, poolLimitMs } = wait;
  const refuse = (detail: string): void => done(new DatabaseUnavailableError(detail, { sent: false }));
  if (waitMs <= 0) return refuse('The deadline has passed.');
  if (pool.waitingCount >= MAX_WAITING) return refuse('Too many callers wait for a connection.');
  let timer: NodeJS.Timeout | undefined;
  let givenUp = false;
  if (waitMs < poolLimitMs - TIMER_PRECISION_MS) {
    timer = setTimeout(() => {
      givenUp = true;
      refuse('No connection became free before the deadline.');
    }, waitMs);
  }
  return pool.connect((error, client) => {
    clearTimeout(timer);
    if (givenUp) client?.release();
    else if (client === undefined) done(connectFailure(error));
    else done(undefined, client);
  });
}

/** Leases end at their deadlines, and so do waits for one; whoever has not given back by then is cut off. */
async function closePool(pool: Pool, clients: ReadonlySet<BoundedClient>, deadlineMs: number): Promise<void> {
  const endsAt = performance.now() + deadlineMs;
  while (pool.waitingCount > 0 && performance.now() < endsAt) await pause(CLOSE_POLL_MS);
  await withinTime(pool.end(), endsAt - performance.now());
  const goodbyes = [...clients].map((client) => new Promise((resolve) => client.once('end', resolve)));
  await withinTime(Promise.all(goodbyes), GOODBYE_MS);
  for (const client of clients) client.destroy(new Error('The database was closed.'));
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeUp]);
  clearTimeout(timer);
}

/**
 * Waits until the event loop has asked the kernel for news once more: whatever had reached a socket of this
 * process before the call (an end, a reset) has been handled when it returns.
 */
export function freshPoll(): Promise<void> {
  // The first immediate may run before the next poll, the second runs after it.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
