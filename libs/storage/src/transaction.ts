import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, isPreparedElsewhere, statementFailure } from './database-errors.ts';
import type { QueryOptions, Sql, Statement } from './sql.ts';
import type { LeasedClient } from './bounded-client.ts';

/** What a transaction uses of the connection pool. */
interface Connections {
  lease(endsAt: number): Promise<LeasedClient>;
  prepared(statement: Statement): Statement;
  dropNames(): void;
}

export interface TransactionOptions extends QueryOptions {
  /** Only reads, all of them from one snapshot, and waits for no standby. */
  readonly isSnapshot?: boolean;
}

/** How much later than this process the server ends a transaction whose client fell silent. */
const SERVER_MARGIN_MS = 1_000;

/**
 * `pg_logical_emit_message` is WAL without an effect. A transaction without a transaction id has written nothing, so its
 * commit would wait for no standby; yet it may tell that another one's rows are there, which no standby has so far:
 * PostgreSQL shows them once that one's wait was cancelled. After this message it waits for everything before it.
 */
const CONFIRM = "SELECT pg_logical_emit_message(true, 'sealgate', '')::text";
const COMMIT = `${CONFIRM} WHERE pg_current_xact_id_if_assigned() IS NULL; COMMIT`;

/**
 * Returns once every row that this database showed before is on the synchronous standby, if there is one: for a statement
 * that may have written nothing because the rows were there.
 * @throws DatabaseUnavailableError if it is not known to be.
 */
export async function confirmRows(sql: Sql, options?: QueryOptions): Promise<void> {
  await sql.query({ name: 'confirm rows', text: CONFIRM }, options);
}

/** See `Database.transaction`. */
export async function runTransaction<T>(
  connections: Connections,
  work: (sql: Sql) => Promise<T>,
  options: Required<TransactionOptions>,
): Promise<T> {
  const endsAt = performance.now() + options.deadlineMs;
  const client = await begin(connections, options, endsAt);
  const sql = new TransactionSql(client, connections, endsAt);
  let result: T;
  try {
    result = await Promise.race([work(sql), cutOff(client)]);
    await sql.settled();
  } catch (error) {
    sql.isOver = true;
    if (tellsOfRows(error, sql) && !options.isSnapshot) await confirmRefusal(client);
    else await rollBack(client);
    throw error;
  }
  sql.isOver = true;
  if (sql.firstFailure !== undefined) {
    await rollBack(client);
    throw new Error('The transaction was rolled back: a statement in it had failed.', { cause: sql.firstFailure });
  }
  await commit(client, options.isSnapshot ? 'COMMIT' : COMMIT);
  return result;
}

/** A BEGIN without an answer has changed nothing, so it is retried once on another connection. */
async function begin(
  connections: Connections,
  options: Required<TransactionOptions>,
  endsAt: number,
  retries = 1,
): Promise<LeasedClient> {
  const client = await connections.lease(endsAt);
  try {
    // SET LOCAL ends with the transaction, so it is safe behind PgBouncer; one message for all three.
    const limitMs = Math.ceil(options.deadlineMs + SERVER_MARGIN_MS);
    const beginning = options.isSnapshot ? 'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY' : 'BEGIN';
    const text = `${beginning}; SET LOCAL statement_timeout = ${limitMs}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}`;
    await client.ask({ text });
    return client;
  } catch (error) {
    const failure = statementFailure(error, client.broken);
    client.release(true);
    const isUnavailable = failure.error instanceof DatabaseUnavailableError;
    if (isUnavailable && retries > 0 && performance.now() < endsAt) {
      return begin(connections, options, endsAt, retries - 1);
    }
    throw withoutEffect(failure.error);
  }
}

/** Statements of one transaction run one after the other, even if the caller does not await each. */
class TransactionSql implements Sql {
  /** Once true, further statements are refused. */
  isOver = false;
  /** The first refusal of the server: after it, PostgreSQL can only roll back. */
  firstFailure: unknown;
  readonly #client: LeasedClient;
  readonly #connections: Connections;
  readonly #endsAt: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: LeasedClient, connections: Connections, endsAt: number) {
    this.#client = client;
    this.#connections = connections;
    this.#endsAt = endsAt;
  }

  query(statement: Statement, { deadlineMs }: QueryOptions = {}): Promise<never[]> {
    const answer = this.#last.then(() => this.#ask(statement, deadlineMs));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Resolves after the last statement, also one that `work` did not await. */
  settled(): Promise<unknown> {
    return this.#last;
  }

  async #ask(statement: Statement, deadlineMs: number | undefined): Promise<never[]> {
    if (this.isOver) throw new DatabaseUnavailableError('The transaction is over.', { sent: false });
    const client = this.#client;
    const isShorter = deadlineMs !== undefined && deadlineMs < this.#endsAt - performance.now();
    if (isShorter) client.leaseFor(deadlineMs);
    try {
      const { rows } = await client.ask(this.#connections.prepared(statement));
      return rows as never[]; // The caller declares the row type.
    } catch (error) {
      this.firstFailure ??= error;
      if (isPreparedElsewhere(error)) {
        this.#connections.dropNames();
        const options = { sent: false, cause: error };
        throw new DatabaseUnavailableError('The pooler does not hold the prepared statement.', options);
      }
      // What was never committed has no effect, whether it was sent or not.
      throw withoutEffect(statementFailure(error, client.broken).error);
    } finally {
      if (isShorter && client.broken === undefined) client.leaseFor(this.#endsAt - performance.now());
    }
  }
}

/** Rejects when the connection breaks, so that work which awaits something else ends at the deadline too. */
function cutOff(client: LeasedClient): Promise<never> {
  return new Promise((_resolve, reject) => {
    const cut = (cause: Error): void =>
      reject(new DatabaseUnavailableError('The transaction was cut off.', { sent: false, cause }));
    if (client.broken === undefined) client.onBroken = cut;
    else cut(client.broken);
  });
}

async function commit(client: LeasedClient, text: string): Promise<void> {
  try {
    await client.ask({ text });
  } catch (error) {
    // The message may have been refused, with the transaction still open.
    client.release(true);
    throw statementFailure(error, client.broken).error;
  }
  client.release();
}

/** A 409 says what is there already, such as what an attempt of unknown outcome made. */
const tellsOfRows = (error: unknown, { firstFailure }: TransactionSql): boolean =>
  error instanceof AppError && error.status === 409 && firstFailure === undefined;

/** Rolls back, and returns once what the refusal tells of is on the synchronous standby. */
const confirmRefusal = (client: LeasedClient): Promise<void> =>
  commit(client, `ROLLBACK; ${CONFIRM}`).catch((error: unknown) => Promise.reject(withoutEffect(error)));

async function rollBack(client: LeasedClient): Promise<void> {
  let isClean = false;
  try {
    if (client.broken === undefined) {
      await client.ask({ text: 'ROLLBACK' });
      isClean = true;
    }
  } catch {
    // The first error is the one to report; the connection is closed, which rolls back as well.
  }
  client.release(!isClean);
}

function withoutEffect(error: unknown): unknown {
  if (!(error instanceof DatabaseUnavailableError) || !error.sent) return error;
  return new DatabaseUnavailableError(error.message, { sent: false, cause: error.cause });
}
