import type { Pool } from 'pg';
import { ConnectionPool } from './connection-pool.ts';
import { isPreparedElsewhere, statementFailure } from './database-errors.ts';
import { runTransaction } from './transaction.ts';

/**
 * One SQL statement. `values` fill `$1..$n`. A `name` makes it a prepared statement of its connection (one text per
 * name, otherwise pg throws), unless names are dropped: see `preparedStatements`.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** `deadlineMs` covers everything: waiting for a connection, connecting and the answer. */
export interface QueryOptions {
  readonly deadlineMs?: number;
}

/** Runs statements: a database, or one transaction of it. */
export interface Sql {
  /**
   * Returns the rows.
   *
   * @throws DatabaseUnavailableError when no answer came: unreachable, cut, timed out, shutting down, full.
   * @throws pg.DatabaseError for every other refusal of the server.
   */
  query<Row extends object = Record<string, unknown>>(statement: Statement, options?: QueryOptions): Promise<Row[]>;
}

/** Open connections, idle connections, and callers queued for one. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** A connection pool of which no call hangs: each ends at its deadline, whatever the server does. */
export interface Database extends Sql {
  /**
   * Runs `work` between BEGIN and COMMIT on one connection; `deadlineMs` covers all of it. When `work` throws, the
   * transaction is rolled back and the error is rethrown.
   *
   * @throws DatabaseUnavailableError with `sent: true` when the answer to COMMIT was lost.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: QueryOptions): Promise<T>;
  /** Makes one round trip within `deadlineMs`. @throws DatabaseUnavailableError */
  ping(deadlineMs: number): Promise<void>;
  /** The same connections as `pg.Pool`, for Prisma's adapter. Each lease has the default deadline too. */
  readonly pool: Pool;
  /** Waits for running statements (each ends at its deadline), then closes every connection. */
  close(): Promise<void>;
  stats(): PoolStats;
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
  readonly connectTimeoutMs: number;
  /** Default deadline of a call. */
  readonly deadlineMs: number;
  /**
   * Whether statements keep their names. Behind PgBouncer in transaction mode a name may reach a server connection that
   * does not hold it, so by default names are dropped once a pooler is detected; `true` is for a pooler that tracks
   * them.
   */
  readonly preparedStatements?: boolean | undefined;
  /** Called once, when names are dropped because a pooler was detected. */
  readonly onPooler?: () => void;
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

  const query: Database['query'] = (statement, { deadlineMs = options.deadlineMs } = {}) =>
    runStatement(connections, statement, performance.now() + deadlineMs);

  return {
    query,
    transaction: (work, { deadlineMs = options.deadlineMs } = {}) => runTransaction(connections, work, deadlineMs),
    ping: async (deadlineMs) => {
      await query({ text: 'SELECT 1' }, { deadlineMs });
    },
    pool,
    close: () => connections.close(),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  };
}

async function runStatement(
  connections: ConnectionPool,
  statement: Statement,
  endsAt: number,
  retries = 1,
): Promise<never[]> {
  const client = await connections.lease(endsAt);
  try {
    const { rows } = await client.ask(connections.prepared(statement));
    client.release();
    return rows as never[]; // The caller declares the row type.
  } catch (error) {
    const failure = statementFailure(error, client.broken);
    client.release(!failure.reusable);
    if (isPreparedElsewhere(error)) connections.dropNames();
    const mayRetry = failure.neverSent || (failure.outOfStep === true && statement.name !== undefined);
    if (mayRetry && retries > 0) return runStatement(connections, statement, endsAt, retries - 1);
    throw failure.error;
  }
}
