import type { Pool } from 'pg';

/**
 * One SQL statement. `values` fill `$1..$n`. A `name` makes it a prepared statement of the connection it
 * runs on (one text per name, or it is an error), unless it goes without: see `preparedStatements`.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** `deadlineMs`: milliseconds for everything: waiting for a connection, connecting, the answer. */
export interface QueryOptions {
  readonly deadlineMs?: number;
}

/** Something statements can be sent to: a database, or one transaction of it. */
export interface Sql {
  /**
   * The rows of the answer.
   *
   * @throws DatabaseUnavailableError when no answer came: unreachable, cut, timed out, shutting down, full.
   * @throws pg.DatabaseError for every other refusal of the server.
   */
  query<Row extends object = Record<string, unknown>>(statement: Statement, options?: QueryOptions): Promise<Row[]>;
}

/** How many connections there are, how many of them do nothing, how many callers wait for one. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** A pool of connections that can not hang: every call ends at its deadline, whatever the server does. */
export interface Database extends Sql {
  /**
   * Runs `work` between BEGIN and COMMIT on one connection; `deadlineMs` is for all of it. When `work`
   * throws, the transaction is rolled back and the error passes on.
   *
   * @throws DatabaseUnavailableError with `sent: true` when the answer to COMMIT was lost.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: QueryOptions): Promise<T>;
  /** Asks for one round trip within `deadlineMs`; throws DatabaseUnavailableError. */
  ping(deadlineMs: number): Promise<void>;
  /** The same connections as `pg.Pool`, for Prisma's adapter. Statements on it have the default deadline too. */
  readonly pool: Pool;
  /** Waits for running statements (each ends at its deadline), then closes every connection. */
  close(): Promise<void>;
  stats(): PoolStats;
}

/** How to reach a database and what may be spent on it. */
export interface DatabaseOptions {
  /**
   * One server, or several as libpq writes them: `postgresql://u:p@h1:5432,h2:5432/db?target_session_attrs=read-write`.
   * Or `file:///path` of a file that holds it: once it holds another, connections of before are used for nothing new.
   */
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  /** The deadline of every call that does not bring its own. */
  readonly deadlineMs: number;
  /**
   * Whether statements keep their names. Behind PgBouncer in transaction mode a name may meet another server connection, so
   * by default they do not where a pooler is found between; `true` is for one that carries names itself.
   */
  readonly preparedStatements?: boolean | undefined;
  /** Told once, when statements go without their names because a pooler was found. */
  readonly onPooler?: () => void;
  /** Told when a connection that nobody was using broke. */
  readonly onIdleError?: (error: Error) => void;
}
