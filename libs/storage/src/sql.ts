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
