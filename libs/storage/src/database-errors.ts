import { DatabaseError } from 'pg';
import { DatabaseUnavailableError } from './database-unavailable-error.ts';

/** PostgreSQL appendix A: connection exceptions, shutdowns and idle ends, no connection or other resource left. */
const UNAVAILABLE = /^(08...|57P0[1-5]|53300|53400)$/;

/** Sent to a connection that was waiting for a statement for too long: the statement it crossed was not read. */
const IDLE_SESSION_TIMEOUT = '57P05';

/** What the connection believes of its prepared statements is no longer what the server holds. */
const STATEMENTS_OUT_OF_STEP: ReadonlySet<string | undefined> = new Set(['26000', '42P05', '0A000']);

/** The connection was known to be broken before the statement was handed to it. */
export class NeverSentError extends Error {
  constructor(cause: Error) {
    super('The connection was broken already.', { cause });
    this.name = 'NeverSentError';
  }
}

/** What became of a statement that failed. */
export interface Failure {
  readonly error: unknown;
  /** The server has certainly not read the whole statement: it may be sent again. */
  readonly neverSent: boolean;
  /** The connection is as good as before. */
  readonly reusable: boolean;
}

/** True for a broken UNIQUE or PRIMARY KEY constraint; with `constraint`, only for the one of that name. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

/** For an error met while getting a connection: no statement was involved yet. */
export function connectFailure(error: unknown): unknown {
  if (error instanceof DatabaseUnavailableError) return error;
  if (error instanceof DatabaseError && !isUnavailable(error)) return error;
  return new DatabaseUnavailableError('No connection to the database.', { sent: false, cause: error });
}

/**
 * For an error met after a statement was handed to a connection; `broken` is why that connection broke, if it did.
 *
 * - A failed write means that the last bytes of the statement, without which the server commits nothing, never left.
 * - An answer of severity ERROR means that the server has undone the statement. (Where the server's messages are
 *   translated the severity is not recognised, and the statement counts as one that may have taken effect.)
 */
export function statementFailure(error: unknown, broken: Error | undefined): Failure {
  if (error instanceof DatabaseError) return serverRefusal(error);
  if (broken === undefined) return { error, neverSent: false, reusable: false };
  const neverSent = error instanceof NeverSentError || isWriteError(error);
  return { error: cutOff(neverSent, error), neverSent, reusable: false };
}

function serverRefusal(error: DatabaseError): Failure {
  const undone = error.severity === 'ERROR';
  const reusable = undone && !STATEMENTS_OUT_OF_STEP.has(error.code);
  if (!isUnavailable(error)) return { error, neverSent: false, reusable };
  const neverSent = error.code === IDLE_SESSION_TIMEOUT;
  return {
    error: new DatabaseUnavailableError('The database could not serve.', { sent: !undone && !neverSent, cause: error }),
    neverSent,
    reusable,
  };
}

function cutOff(neverSent: boolean, cause: unknown): DatabaseUnavailableError {
  return new DatabaseUnavailableError('The database gave no answer.', { sent: !neverSent, cause });
}

function isUnavailable(error: DatabaseError): boolean {
  return error.code !== undefined && UNAVAILABLE.test(error.code);
}

function isWriteError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}
