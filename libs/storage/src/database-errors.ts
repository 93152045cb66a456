import { DatabaseError } from 'pg';

/**
 * The database gave no answer: unreachable, connection cut, deadline passed, shutting down, or no connection left.
 * `sent` says whether the statement may have taken effect; false means that it certainly has not.
 */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError';
  readonly sent: boolean;

  constructor(detail: string, options: { sent: boolean; cause?: unknown }) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.sent = options.sent;
  }
}

/**
 * The database answers but refuses this process: the role, password, database, rights or schema are wrong. Nothing was
 * changed. An operator has to fix it; a retry alone does not help.
 */
export class DatabaseRefusedError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseRefusedError';
  /** SQLSTATE. */
  readonly code: string | undefined;

  constructor(cause: Error & { readonly code?: string | undefined }) {
    super(`The database refuses this: ${cause.message}.`, { sent: false, cause });
    this.code = cause.code;
  }
}

/** The disk of the database takes no more: it is full or read-only. The statement was undone; a retry at once is no use. */
export class DatabaseFullError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseFullError';
  /** For people, without a full stop. */
  readonly reason: string;

  constructor(cause: Error) {
    super('The disk of the database takes no writes.', { sent: false, cause });
    this.reason = `the disk of the database takes no writes: ${cause.message}`;
  }
}

/** A server answers but is not the one to use: a standby, or a primary that another one has replaced. */
export class ServerUnfitError extends DatabaseUnavailableError {
  override readonly name = 'ServerUnfitError';
  readonly kind: 'standby' | 'stale';
  /** For people, without a full stop. */
  readonly reason: string;

  constructor(reason: string, kind: ServerUnfitError['kind']) {
    super(`The server must not be used: ${reason}.`, { sent: false });
    this.reason = reason;
    this.kind = kind;
  }
}

/** The connection was known to be broken before the statement was handed to it. */
export class NeverSentError extends Error {
  constructor(cause: Error) {
    super('The connection was already broken.', { cause });
  }
}

/**
 * SQLSTATEs (PostgreSQL appendix A) of a server that cannot serve: connection exceptions, shutdown, idle session ended,
 * out of disk, memory, connections or another resource, an I/O error, and a read-only server. And of its time limits: a
 * transaction was idle or took too long, or a statement was cancelled. They are the server's part of our deadlines, and
 * reach this process when its event loop was blocked for longer than `transaction.ts` allows.
 */
const UNAVAILABLE = /^(08...|57P0[1-5]|53...|58030|25006|25P0[34]|57014)$/;

/**
 * SQLSTATEs that stay until an operator acts: no such role, password or database; no such schema, table, column or
 * function (not migrated); no right to it.
 */
const REFUSED: ReadonlySet<unknown> = new Set(['28000', '28P01', '3D000', '3F000', '42P01', '42703', '42883', '42501']);

const DISK_FULL = '53100';
/** What a read-only file system gives: PostgreSQL has no code of its own for it, and uses that of missing rights too. */
const FILE_REFUSED: ReadonlySet<unknown> = new Set(['42501', '58030', 'XX000']);
/** Sources of PostgreSQL that write files; rights of roles are checked elsewhere. */
const FILE_SOURCES: ReadonlySet<unknown> = new Set(['md.c', 'fd.c', 'slru.c', 'xlog.c', 'buffile.c', 'copydir.c']);

/** Whether the server could not write a file. */
export function isDiskFault(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError)) return false;
  const { code, file, message } = error;
  if (code === DISK_FULL) return true;
  return FILE_REFUSED.has(code) && FILE_SOURCES.has(file) && /No space left|Read-only file system/i.test(message);
}

/** The server is a standby or was made read-only. */
export const READ_ONLY = '25006';

/** Sent on a session that was idle for too long, in a transaction or not: a statement that crossed it was not read. */
const IDLE_TIMEOUTS: ReadonlySet<unknown> = new Set(['57P05', '25P03']);

/** The connection's record of its prepared statements does not match the server's. */
const STATEMENTS_OUT_OF_STEP: ReadonlySet<unknown> = new Set(['26000', '42P05', '0A000']);
/** Those of them that a pooler causes by using another server connection for each transaction. */
const STATEMENTS_ELSEWHERE: ReadonlySet<unknown> = new Set(['26000', '42P05']);

/** Outcome of a failed statement. */
interface Failure {
  /** What to throw. */
  readonly error: unknown;
  /** The server has certainly not read the whole statement: it may be sent again. */
  readonly neverSent: boolean;
  /** The connection may be reused. */
  readonly reusable: boolean;
  /** The server refused the statement because of its prepared statements: a fresh connection may run it. */
  readonly outOfStep?: boolean;
}

/** Whether a UNIQUE or PRIMARY KEY constraint was violated; with `constraint`, the one of that name. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== '23505') return false;
  return constraint === undefined || error.constraint === constraint;
}

/** The SQLSTATE of a refusal that stays until an operator acts, also inside an error of Prisma; else undefined. */
export function refusalCode(error: unknown): string | undefined {
  for (const { code, originalCode } of causesOf(error))
    for (const state of [code, originalCode]) if (REFUSED.has(state) || state === READ_ONLY) return state as string;
  return undefined;
}

/** SQLSTATE; P2034 is Prisma's. */
const DEADLOCK: ReadonlySet<unknown> = new Set(['40P01', 'P2034']);

/** Whether the database undid a transaction because it and another one, such as a migration, waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return causesOf(error).some(({ code, originalCode }) => DEADLOCK.has(code) || DEADLOCK.has(originalCode));
}

/**
 * Codes of Prisma (error reference) for a server that cannot be reached, a connection that was lost, and a transaction
 * that did not begin in time or was cut off. ETIMEDOUT: our deadline, which its adapter does not know.
 */
const PRISMA_LOST = /^(P1001|P1008|P1017|P2024|P2028|ETIMEDOUT)$/;
/** The same in its adapter, which reports a raw statement only so. */
const ADAPTER_LOST: ReadonlySet<unknown> = new Set(['DatabaseNotReachable', 'SocketTimeout', 'ConnectionClosed']);

/** What pg says of a connection that was cut, without a code; the adapter passes it on as it is. */
const PG_LOST = /^(Connection terminated|Client has encountered a connection error|Client was closed)/;
/** Errors of a socket that the adapter passes on as well. */
const SOCKET_LOST = /^(ECONN[A-Z]+|EPIPE|EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/;

/** Whether a call of Prisma ended without an answer of the database, which may answer again by now. */
export function isConnectionLost(error: unknown): boolean {
  return causesOf(error).some((cause) => {
    if (cause instanceof DatabaseUnavailableError || ADAPTER_LOST.has(cause['kind'])) return true;
    const { code, originalCode, message } = cause;
    if (typeof message === 'string' && PG_LOST.test(message)) return true;
    return [code, originalCode].some((text) => typeof text === 'string' && isLostCode(text));
  });
}

const isLostCode = (code: string): boolean =>
  PRISMA_LOST.test(code) || SOCKET_LOST.test(code) || UNAVAILABLE.test(code);

/** Of those the ones after which nothing was written: no connection or transaction was to be had, or it was undone. */
const UNDONE = /^(P1001|P2024|P2028|53...|25006|25P0[34]|57014)$/;

/** Whether a failed write may have taken effect all the same: its answer was lost, perhaps that of its COMMIT. */
export function mayBeWritten(error: unknown): boolean {
  const causes = causesOf(error);
  const ours = causes.find((cause) => cause instanceof DatabaseUnavailableError);
  if (ours !== undefined) return ours.sent;
  return !causes.some(
    ({ kind, code, originalCode }) =>
      kind === 'DatabaseNotReachable' || [code, originalCode].some((text) => UNDONE.test(String(text))),
  );
}

/** An error and its causes, outermost first. Prisma keeps that of its adapter in `meta`. */
function causesOf(error: unknown): Record<string, unknown>[] {
  const causes: Record<string, unknown>[] = [];
  for (let cause = error; typeof cause === 'object' && cause !== null;) {
    const { cause: inner, meta } = cause as { cause?: unknown; meta?: { driverAdapterError?: unknown } };
    causes.push(cause as Record<string, unknown>);
    cause = inner ?? meta?.driverAdapterError;
  }
  return causes;
}

/** Whether a pooler passed the named statement to a server connection that does not hold it, or holds another. */
export const isPreparedElsewhere = (error: unknown): boolean =>
  error instanceof DatabaseError && STATEMENTS_ELSEWHERE.has(error.code);

/** The error to throw for one that occurred while connecting, before any statement. */
export function connectFailure(error: unknown): unknown {
  if (error instanceof DatabaseUnavailableError) return error;
  if (error instanceof DatabaseError && REFUSED.has(error.code)) return new DatabaseRefusedError(error);
  if (error instanceof DatabaseError && !isUnavailable(error)) return error;
  return new DatabaseUnavailableError('No connection to the database.', { sent: false, cause: error });
}

/**
 * Classifies an error that occurred after a statement was handed to a connection; `broken` is why that connection
 * broke, if it did.
 *
 * - A failed write means that the last bytes of the statement, without which the server commits nothing, were not sent.
 * - An answer of severity ERROR means that the server has undone the statement. (With translated server messages the
 *   severity is not recognised, and the statement counts as one that may have taken effect.)
 */
export function statementFailure(error: unknown, broken: Error | undefined): Failure {
  if (error instanceof DatabaseError) return serverRefusal(error);
  if (broken === undefined) return { error, neverSent: false, reusable: false };
  const isWriteError = error instanceof Error && 'syscall' in error && error.syscall === 'write';
  const neverSent = isWriteError || error instanceof NeverSentError;
  const unanswered = new DatabaseUnavailableError('The database gave no answer.', { sent: !neverSent, cause: error });
  return { error: unanswered, neverSent, reusable: false };
}

function serverRefusal(error: DatabaseError): Failure {
  const undone = error.severity === 'ERROR';
  if (undone && isDiskFault(error)) return { error: new DatabaseFullError(error), neverSent: false, reusable: true };
  const outOfStep = undone && STATEMENTS_OUT_OF_STEP.has(error.code);
  const reusable = undone && !outOfStep && error.code !== READ_ONLY;
  // An ERROR has undone the statement; after FATAL that is not known.
  if (undone && REFUSED.has(error.code)) return { error: new DatabaseRefusedError(error), neverSent: false, reusable };
  if (!isUnavailable(error)) return { error, neverSent: false, reusable, outOfStep };
  const neverSent = IDLE_TIMEOUTS.has(error.code);
  const options = { sent: !undone && !neverSent, cause: error };
  return { error: new DatabaseUnavailableError('The database could not serve.', options), neverSent, reusable };
}

const isUnavailable = ({ code }: DatabaseError): boolean => code !== undefined && UNAVAILABLE.test(code);
