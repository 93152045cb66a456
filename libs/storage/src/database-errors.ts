import { DatabaseError } from 'pg';
import { DatabaseRefusedError, DatabaseUnavailableError } from './database-unavailable-error.ts';

/**
 * PostgreSQL appendix A: connection exceptions, shutdowns and idle ends, no disk, memory, connection or other resource left,
 * an I/O error, and a server that takes no writes.
 */
const UNAVAILABLE = /^(08...|57P0[1-5]|53...|58030|25006)$/;

/**
 * The server works, and this process cannot work with it until somebody mends it: no such role, password or database, no
 * such schema, table, column or function (not migrated), no right to it.
 */
const REFUSED: ReadonlySet<unknown> = new Set(['28000', '28P01', '3D000', '3F000', '42P01', '42703', '42883', '42501']);

/** The server takes no writes: it is a standby, or was told so. */
export const READ_ONLY = '25006';

/** Sent to a connection that was waiting for a statement for too long: the statement it crossed was not read. */
const IDLE_SESSION_TIMEOUT = '57P05';

/** What the connection believes of its prepared statements is no longer what the server holds. */
const STATEMENTS_OUT_OF_STEP: ReadonlySet<unknown> = new Set(['26000', '42P05', '0A000']);
/** Those of them that come of a pooler which hands out another server connection for each transaction. */
const STATEMENTS_ELSEWHERE: ReadonlySet<unknown> = new Set(['26000', '42P05']);

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
  /** The server did not run the statement because it was prepared, or was not: a fresh connection may. */
  readonly outOfStep?: boolean;
}

/** True for a broken UNIQUE or PRIMARY KEY constraint; with `constraint`, only for the one of that name. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

/** The SQLSTATE of what the server refuses until somebody mends it, also where Prisma tells it; else undefined. */
export function refusalCode(error: unknown): string | undefined {
  const { code, cause, meta, originalCode } = (error ?? {}) as Record<string, unknown>;
  for (const told of [code, originalCode]) if (REFUSED.has(told) || told === READ_ONLY) return told as string;
  if (cause !== undefined) return refusalCode(cause);
  const { driverAdapterError } = (meta ?? {}) as Record<string, unknown>;
  return driverAdapterError === undefined ? undefined : refusalCode(driverAdapterError);
}

/** Whether a pooler must have handed the named statement to a server connection that does not hold it, or holds another. */
export const isPreparedElsewhere = (error: unknown): boolean =>
  error instanceof DatabaseError && STATEMENTS_ELSEWHERE.has(error.code);

/** For an error met while getting a connection: no statement was involved yet. */
export function connectFailure(error: unknown): unknown {
  if (error instanceof DatabaseUnavailableError) return error;
  if (error instanceof DatabaseError && isRefused(error)) return new DatabaseRefusedError(error);
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
  const outOfStep = undone && STATEMENTS_OUT_OF_STEP.has(error.code);
  const reusable = undone && !outOfStep && error.code !== READ_ONLY;
  // Only what is said before anything ran, or undoes it, is known to have changed nothing.
  if (undone && isRefused(error)) return { error: new DatabaseRefusedError(error), neverSent: false, reusable };
  if (!isUnavailable(error)) return { error, neverSent: false, reusable, outOfStep };
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

const isRefused = (error: DatabaseError): boolean => REFUSED.has(error.code);

function isUnavailable(error: DatabaseError): boolean {
  return error.code !== undefined && UNAVAILABLE.test(error.code);
}

function isWriteError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'write';
}
