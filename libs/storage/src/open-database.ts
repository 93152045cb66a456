import { type ConnectionPool, openPool } from './connection-pool.ts';
import type { Database, DatabaseOptions, Statement } from './database.ts';
import { isPreparedElsewhere, statementFailure } from './database-errors.ts';
import { runTransaction } from './transaction.ts';

/**
 * Opens a pool; connections are made when they are needed, so nothing is thrown here for a server that is away.
 *
 * - A statement without an answer at its deadline fails; its connection is destroyed and the server is asked to stop.
 * - After a cut or a missed deadline every idle connection is given up, so the next statement meets a fresh one.
 * - A statement is sent a second time only when the first certainly did not leave this process as a whole.
 * - Nothing is kept in a session: any statement may run on any connection.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const connections = openPool(options);
  const { pool } = connections;

  const query: Database['query'] = (statement, { deadlineMs = options.deadlineMs } = {}) =>
    runStatement(connections, statement, performance.now() + deadlineMs);

  return {
    query,
    transaction: (work, { deadlineMs = options.deadlineMs } = {}) => runTransaction(work, { connections, deadlineMs }),
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
    return rows as never[]; // The caller says what the rows are.
  } catch (error) {
    const failure = statementFailure(error, client.broken);
    if (failure.reusable) await client.settled();
    client.release(!failure.reusable);
    if (isPreparedElsewhere(error)) connections.dropNames();
    const mayGoAgain = failure.neverSent || (failure.outOfStep === true && statement.name !== undefined);
    if (mayGoAgain && retries > 0) return runStatement(connections, statement, endsAt, retries - 1);
    throw failure.error;
  }
}
