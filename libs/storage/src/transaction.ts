import type { ConnectionPool, LeasedClient } from './connection-pool.ts';
import type { QueryOptions, Sql, Statement } from './database.ts';
import { isPreparedElsewhere, statementFailure } from './database-errors.ts';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';

/** How much later than this process the server gives up a transaction whose client fell silent. */
const SERVER_MARGIN_MS = 1_000;

export interface TransactionOptions {
  readonly connections: ConnectionPool;
  readonly deadlineMs: number;
}

/** See `Database.transaction`. */
export async function runTransaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions): Promise<T> {
  const endsAt = performance.now() + options.deadlineMs;
  const client = await begin(options, endsAt);
  const statements = statementsOf(client, options.connections, endsAt);
  let result: T;
  try {
    result = await Promise.race([work(statements.sql), cutOff(client)]);
    await statements.last();
  } catch (error) {
    statements.refuse();
    await rollBack(client);
    throw error;
  }
  statements.refuse();
  await commit(client, statements.firstFailure());
  return result;
}

/** A BEGIN that got no answer has changed nothing, so it is tried once more on another connection. */
async function begin(options: TransactionOptions, endsAt: number, retries = 1): Promise<LeasedClient> {
  const client = await options.connections.lease(endsAt);
  try {
    // SET LOCAL ends with the transaction, so it is safe behind PgBouncer; one message for all three.
    const limitMs = Math.ceil(options.deadlineMs + SERVER_MARGIN_MS);
    const text = `BEGIN; SET LOCAL statement_timeout = ${limitMs}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}`;
    await client.ask({ text });
    return client;
  } catch (error) {
    const failure = statementFailure(error, client.broken);
    client.release(true);
    const unavailable = failure.error instanceof DatabaseUnavailableError;
    if (unavailable && retries > 0 && performance.now() < endsAt) return begin(options, endsAt, retries - 1);
    throw unavailable ? withoutEffect(failure.error) : failure.error;
  }
}

interface Statements {
  readonly sql: Sql;
  /** Waits for the statements that the work did not wait for. */
  last(): Promise<unknown>;
  /** No statement may follow. */
  refuse(): void;
  /** The first refusal of the server: after it, PostgreSQL can only roll back. */
  firstFailure(): unknown;
}

/** Statements of one transaction run one after the other, also where the caller does not wait. */
function statementsOf(client: LeasedClient, connections: ConnectionPool, endsAt: number): Statements {
  let last: Promise<unknown> = Promise.resolve();
  let ended = false;
  let firstFailure: unknown;

  const ask = async (statement: Statement, deadlineMs: number | undefined): Promise<never[]> => {
    if (ended) throw new DatabaseUnavailableError('The transaction is over.', { sent: false });
    const leftMs = endsAt - performance.now();
    const shorter = deadlineMs !== undefined && deadlineMs < leftMs;
    if (shorter) client.leaseFor(deadlineMs);
    try {
      const { rows } = await client.ask(connections.prepared(statement));
      return rows as never[]; // The caller says what the rows are.
    } catch (error) {
      firstFailure ??= error;
      const failure = statementFailure(error, client.broken);
      if (failure.reusable) await client.settled();
      if (isPreparedElsewhere(error)) {
        connections.dropNames();
        throw new DatabaseUnavailableError('A pooler does not hold the prepared statement.', {
          sent: false,
          cause: error,
        });
      }
      // What was never committed has no effect, whether it was sent or not.
      throw withoutEffect(failure.error);
    } finally {
      if (shorter && client.broken === undefined) client.leaseFor(Math.max(0, endsAt - performance.now()));
    }
  };

  return {
    sql: {
      query: (statement: Statement, { deadlineMs }: QueryOptions = {}) => {
        const answer = last.then(() => ask(statement, deadlineMs));
        last = answer.catch(() => undefined);
        return answer;
      },
    },
    last: () => last,
    refuse: () => {
      ended = true;
    },
    firstFailure: () => firstFailure,
  };
}

/** Rejects when the connection breaks, so that work which waits for something else ends at the deadline too. */
function cutOff(client: LeasedClient): Promise<never> {
  return new Promise((_resolve, reject) => {
    client.whenBroken((cause) => {
      reject(new DatabaseUnavailableError('The transaction was cut off.', { sent: false, cause }));
    });
  });
}

async function commit(client: LeasedClient, firstFailure: unknown): Promise<void> {
  let command: string;
  try {
    ({ command } = await client.ask({ text: 'COMMIT' }));
  } catch (error) {
    const failure = statementFailure(error, client.broken);
    if (failure.reusable) await client.settled();
    client.release(!failure.reusable);
    throw failure.error;
  }
  client.release();
  if (command !== 'COMMIT') {
    throw new Error('The transaction was rolled back: a statement in it had failed.', { cause: firstFailure });
  }
}

async function rollBack(client: LeasedClient): Promise<void> {
  let clean = false;
  try {
    if (client.broken === undefined) {
      await client.ask({ text: 'ROLLBACK' });
      clean = true;
    }
  } catch {
    // The first error is the one to tell; the connection is closed, which rolls back as well.
  }
  client.release(!clean);
}

function withoutEffect(error: unknown): unknown {
  if (!(error instanceof DatabaseUnavailableError) || !error.sent) return error;
  return new DatabaseUnavailableError(error.message, { sent: false, cause: error.cause });
}
