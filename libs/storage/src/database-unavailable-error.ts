/**
 * The database gave no answer: it is unreachable, the connection was cut, the deadline passed, it is
 * shutting down or has no connection left. `sent` says what is known about the statement:
 * true, it may have taken effect; false, it certainly has not.
 */
export class DatabaseUnavailableError extends Error {
  readonly sent: boolean;

  constructor(detail: string, options: { sent: boolean; cause?: unknown }) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DatabaseUnavailableError';
    this.sent = options.sent;
  }
}

/**
 * The database answers, and does not let this process work: role, password, database, rights or schema are not what they
 * must be. Nothing was changed. Waiting heals it only once somebody has mended it.
 */
export class DatabaseRefusedError extends DatabaseUnavailableError {
  /** SQLSTATE. */
  readonly code: string | undefined;

  constructor(cause: Error & { readonly code?: string | undefined }) {
    super(`The database refuses this: ${cause.message}.`, { sent: false, cause });
    this.name = 'DatabaseRefusedError';
    this.code = cause.code;
  }
}
